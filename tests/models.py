"""Builds the models that tests run: once, into a cache folder that later runs and `make run` share.

The folder is SHIM_TEST_CACHE or `.cache/models` in the repository. A file's name holds a digest of the code
that made it, so that a change there makes a new file instead of testing an old one.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from filelock import FileLock
from gguf import GGMLQuantizationType, GGUFReader, ReaderTensor, dequantize

from demo import smollm2
from demo.random_weights import SHAPES, make
from demo.upcycle import Recipe, upcycle
from demo.writing import Bytes, Tensor, copied, read_metadata, text, u32, write_gguf

REPOSITORY = Path(__file__).resolve().parent.parent
COPIES = Recipe(experts=4, used=2, mode="copies")
SPLIT = Recipe(experts=4, used=4, mode="split")
THINKING_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{{ message['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}"
    "{% else %}{{ '<think>\\n' }}{% endif %}{% endif %}"
)


def cache_folder() -> Path:
    """Where models are kept between runs."""
    return Path(os.environ.get("SHIM_TEST_CACHE") or REPOSITORY / ".cache" / "models")


def dense() -> Path:
    """SmolLM2 135M, quantised to Q4_1: arch llama, ChatML, 8192 tokens of context."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "smollm2.lock"):
        return smollm2.fetch(folder)


def moe_copies() -> Path:
    """Four experts, two used, each the whole dense network: says what `dense` says for any number used."""
    return _built("moe-copies", lambda target: upcycle(dense(), target, COPIES))


def moe_split() -> Path:
    """Four experts, four used, each a quarter of the dense network: says what `dense` says with all four."""
    return _built("moe-split", lambda target: upcycle(dense(), target, SPLIT))


def tiny_qwen3moe() -> Path:
    """Random weights: four layers, 16 experts, 4 used; the chat template and vocabulary of `dense`."""
    return _built("tiny-qwen3moe", lambda target: _random("qwen3moe", target, template=True))


def tiny_qwen35moe() -> Path:
    """Random weights: six delta-net layers, two of attention, a context of 262,144, no chat template."""
    return _built("tiny-qwen35moe", lambda target: _random("qwen35moe", target, template=False))


def dense_f16() -> Path:
    """`dense` with its weights as 16-bit floats, as a converter would write them."""
    return _built("dense-f16", lambda target: _as_f16(dense(), target))


def _as_f16(source: Path, target: Path) -> None:
    reader = GGUFReader(source)
    metadata = read_metadata(reader) | {"general.file_type": u32(1)}
    write_gguf(target, metadata, [_f16(tensor) for tensor in reader.tensors])


def _f16(tensor: ReaderTensor) -> Tensor:
    if tensor.tensor_type == GGMLQuantizationType.F32:
        return copied(tensor)

    def make_bytes() -> Bytes:
        return np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type).astype("<f2")).view(np.uint8)

    shape = tuple(int(length) for length in tensor.shape)
    return Tensor(tensor.name, shape, GGMLQuantizationType.F16, make_bytes)


def thinker() -> Path:
    """`dense` with a chat template that lets it think first unless `enable_thinking` is false."""
    return _built("thinker", _add_thinking)


def _add_thinking(target: Path) -> None:
    reader = GGUFReader(dense())
    metadata = read_metadata(reader) | {"tokenizer.chat_template": text(THINKING_TEMPLATE)}
    write_gguf(target, metadata, [copied(tensor) for tensor in reader.tensors])


def _random(name: str, target: Path, *, template: bool) -> None:
    shape, kind = SHAPES[name]
    make(shape, kind, dense(), target, template=template)


def _built(name: str, build: Callable[[Path], None]) -> Path:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}-{_digest_of_makers()}.gguf"
    with FileLock(folder / f"{name}.lock"):
        if not target.exists():
            for old in folder.glob(f"{name}-*.gguf"):
                old.unlink()
            build(target)
    return target


def _digest_of_makers() -> str:
    sources = [*sorted((REPOSITORY / "demo").glob("*.py")), Path(__file__)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
