"""LoRA adapters: the logits that they make, and what is refused. The adapters are made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, ReaderTensor, dequantize

from demo.writing import Tensor, as_bytes, copied, read_metadata, u32, write_gguf
from runtime.engine import NativeEngine, load_engine
from runtime.errors import LoadError
from runtime.events import Embed, Embedded
from runtime.options import LoadOptions

Matrix = npt.NDArray[np.float32]
Pairs = Mapping[str, tuple[Matrix, Matrix]]

LAYERS = 2
RANK = 4
ALPHA = 8.0
NAMES = [
    f"blk.{layer}.{part}.weight" for layer in range(LAYERS) for part in ("attn_q", "attn_output", "ffn_down")
]
PROMPT = "The capital of France is"


def random_pairs(model: Path, size: float) -> dict[str, tuple[Matrix, Matrix]]:
    """A (rank × columns) and B (rows × rank) for each of the weights; ``size`` 0 makes B zero."""
    random = np.random.default_rng(1)
    shapes = {tensor.name: tensor.shape for tensor in GGUFReader(model).tensors}
    pairs = {}
    for name in NAMES:
        columns, rows = (int(length) for length in shapes[name])
        a = random.normal(scale=columns**-0.5, size=(RANK, columns)).astype(np.float32)
        b = (size * random.normal(size=(rows, RANK))).astype(np.float32)
        pairs[name] = (a, b)
    return pairs


def write_adapter(
    path: Path, pairs: Pairs, architecture: str = "llama", invocation: list[int] | None = None
) -> str:
    writer = GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", ALPHA)
    if invocation:
        key = "adapter.alora.invocation_tokens"
        writer.add_key_value(key, invocation, GGUFValueType.ARRAY, GGUFValueType.UINT32)
    for name, (a, b) in pairs.items():
        writer.add_tensor(f"{name}.lora_a", a)
        writer.add_tensor(f"{name}.lora_b", b)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def write_model(path: Path, model: Path, pairs: Pairs, scale: float) -> Path:
    """The first two layers in f32, every changed weight as W + scale · alpha / rank · B A."""
    reader = GGUFReader(model)

    def tensor(source: ReaderTensor) -> Tensor:
        if not source.name.startswith("blk."):
            return copied(source)
        weight = dequantize(source.data, source.tensor_type)
        if source.name in pairs:
            a, b = pairs[source.name]
            weight = (weight + scale * ALPHA / RANK * (b @ a)).astype(np.float32)
        shape = tuple(int(size) for size in source.shape)
        return Tensor(source.name, shape, GGMLQuantizationType.F32, lambda: as_bytes(weight))

    kept = [source for source in reader.tensors if is_kept(source.name)]
    write_gguf(path, read_metadata(reader) | {"llama.block_count": u32(LAYERS)}, map(tensor, kept))
    return path


def is_kept(name: str) -> bool:
    """Whether a tensor is no layer's, or one of the first layers'."""
    return not name.startswith("blk.") or int(name.split(".")[1]) < LAYERS


def load(model: Path, *adapters: tuple[str, float]) -> NativeEngine:
    options = LoadOptions(
        num_ctx=256, adapters=adapters, flash_attention=False, cache_type_k="f32", cache_type_v="f32"
    )
    return load_engine(str(model), "llama", options, lambda _: True)


def logits(engine: NativeEngine) -> Matrix:
    found = np.array(engine.logits(engine.tokenize(PROMPT, True)), dtype=np.float32)
    engine.close()
    return found


@pytest.fixture(scope="module")
def base(dense_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers whose activations are not rounded, so that small differences stay small."""
    pairs = random_pairs(dense_gguf, 0.0)
    return write_model(tmp_path_factory.mktemp("base") / "base.gguf", dense_gguf, pairs, 0.0)


@pytest.fixture(scope="module")
def plain(base: Path) -> Matrix:
    return logits(load(base))


def test_an_adapter_of_zeros_changes_nothing(base: Path, plain: Matrix, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "zero.gguf", random_pairs(base, 0.0))
    assert np.array_equal(logits(load(base, (adapter, 1.0))), plain)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_an_adapter_equals_merged_weights(base: Path, plain: Matrix, tmp_path: Path, scale: float) -> None:
    pairs = random_pairs(base, 0.05)
    adapted = logits(load(base, (write_adapter(tmp_path / "lora.gguf", pairs), scale)))
    merged = logits(load(write_model(tmp_path / "merged.gguf", base, pairs, scale)))
    spread = float(np.abs(merged - plain).max())
    assert spread > 0.3
    assert float(np.abs(adapted - merged).max()) < 0.02 * spread


def test_several_adapters_add_up(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "lora.gguf", random_pairs(base, 0.05))
    other = write_adapter(tmp_path / "other.gguf", random_pairs(base, 0.05))
    twice = logits(load(base, (adapter, 0.5), (other, 0.5)))
    once = logits(load(base, (adapter, 1.0)))
    assert float(np.abs(twice - once).max()) < 0.01


def test_embeddings_are_adapted_too(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "lora.gguf", random_pairs(base, 0.05))
    vectors = []
    for adapters in ((), ((adapter, 1.0),)):
        engine = load(base, *adapters)
        engine.embed(Embed(1, engine.tokenize(PROMPT, True)))
        [answer] = engine.wait_events(60)
        assert isinstance(answer, Embedded)
        vectors.append(answer.vector)
        engine.close()
    assert vectors[0] != vectors[1]


def no_file(path: Path, model: Path) -> str:
    return str(path)


def damaged(path: Path, model: Path) -> str:
    write_adapter(path, random_pairs(model, 0.1))
    path.write_bytes(path.read_bytes()[:-5000])
    return str(path)


def no_gguf(path: Path, model: Path) -> str:
    path.write_bytes(b"GGUF" + bytes(99))
    return str(path)


def a_model(path: Path, model: Path) -> str:
    path.symlink_to(model)
    return str(path)


def of_another_architecture(path: Path, model: Path) -> str:
    return write_adapter(path, random_pairs(model, 0.1), "qwen2")


def of_another_shape(path: Path, model: Path) -> str:
    return write_adapter(path, {NAMES[0]: (np.zeros((4, 8), np.float32), np.zeros((8, 4), np.float32))})


def activated(path: Path, model: Path) -> str:
    return write_adapter(path, random_pairs(model, 0.1), invocation=[1, 2, 3])


@pytest.mark.parametrize(
    ("make", "kind", "word"),
    [
        (no_file, "bad_model", "not there"),
        (damaged, "bad_model", "damaged"),
        (no_gguf, "bad_model", "damaged"),
        (a_model, "bad_model", "another model"),
        (of_another_architecture, "bad_model", "another model"),
        (of_another_shape, "bad_model", "another model"),
        (activated, "unsupported", "aLoRA"),
    ],
)
def test_refused_by_name(
    base: Path, tmp_path: Path, make: Callable[[Path, Path], str], kind: str, word: str
) -> None:
    adapter = make(tmp_path / "sha256-abc", base)
    with pytest.raises(LoadError, match=f"adapter sha256-abc .*{word}") as caught:
        load(base, (adapter, 1.0))
    assert caught.value.kind == kind
