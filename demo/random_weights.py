"""Makes GGUF files with random weights: the true shapes of real architectures, and no sense in what they say.

    python -m demo.random_weights qwen35moe OUT.gguf --vocabulary SMOLLM2.gguf
    python -m demo.random_weights qwen3-30b-a3b OUT.gguf --vocabulary SMOLLM2.gguf --layers 6

They load, run and keep state as the real ones do, so they serve to test memory, speed and the cache. The
vocabulary is copied from a real file. Numbers are spread so that a layer neither fades nor explodes.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import quantize

from demo.shapes import QWEN3_30B_A3B, TINY_QWEN3MOE, TINY_QWEN35MOE, Part, Shape, Slot, metadata, slots
from demo.writing import Bytes, Tensor, Value, as_bytes, read_metadata, size_in_bytes, write_gguf

F32, F16, Q4_K = GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.Q4_K
Floats = npt.NDArray[np.float32]

SHAPES: dict[str, tuple[Shape, GGMLQuantizationType]] = {
    # Not quantised: rounding activations to 8 bits would make small differences large
    "qwen3moe": (TINY_QWEN3MOE, F16),
    "qwen35moe": (TINY_QWEN35MOE, F16),
    "qwen3-30b-a3b": (QWEN3_30B_A3B, Q4_K),
}
SEED = 20_260_224
Q4_K_BLOCK_BYTES = 144
# A Q4_K value is d*s*q - m*t with 6-bit s, t and a 4-bit q. With all of these random, m = 7.5*d centres the
# values on zero, and their standard deviation is close to 258*d.
Q4_K_MINIMUM = 7.5
Q4_K_DEVIATION = 258.0


def make(shape: Shape, kind: GGMLQuantizationType, vocabulary: Path, target: Path, *, template: bool) -> None:
    """Writes `target`: matrices of type `kind`, the rest F32, a chat template only where it is asked for."""
    words = _vocabulary(vocabulary, template=template)
    count = len(words["tokenizer.ggml.tokens"].content)
    tensors = [_tensor(slot, kind) for slot in slots(shape, count)]
    write_gguf(target, metadata(shape, f"Random {shape.architecture}") | words, tensors)


def _vocabulary(path: Path, *, template: bool) -> dict[str, Value]:
    found = read_metadata(GGUFReader(path))
    kept = {name: value for name, value in found.items() if name.startswith("tokenizer.")}
    if not template:
        kept.pop("tokenizer.chat_template", None)
    return kept


def _tensor(slot: Slot, kind: GGMLQuantizationType) -> Tensor:
    quantised = slot.part in ("matrix", "embedding") and len(slot.shape) > 1
    chosen = kind if quantised else F32
    # A seed per name keeps a tensor the same when others come or go.
    random = np.random.default_rng((SEED, zlib.crc32(slot.name.encode())))
    return Tensor(slot.name, slot.shape, chosen, lambda: _filled(slot, chosen, random))


def _filled(slot: Slot, kind: GGMLQuantizationType, random: np.random.Generator) -> Bytes:
    if kind == Q4_K:
        return _random_q4_k(slot, random)
    numbers = FILL[slot.part](slot.shape, random)
    return as_bytes(numbers if kind == F32 else quantize(numbers.reshape(-1, slot.shape[0]), kind))


def _random_q4_k(slot: Slot, random: np.random.Generator) -> Bytes:
    """Random bytes with two scales a block: as good as random numbers that were quantised, and far faster."""
    size = size_in_bytes(slot.shape, Q4_K)
    blocks = np.frombuffer(random.bytes(size), np.uint8).reshape(-1, Q4_K_BLOCK_BYTES).copy()
    step = _deviation(slot.part, slot.shape) / Q4_K_DEVIATION
    blocks[:, 0:4] = np.array([step, step * Q4_K_MINIMUM], np.float16).view(np.uint8)
    return blocks.reshape(-1)


def _deviation(part: Part, shape: tuple[int, ...]) -> float:
    """One over the root of the inputs keeps a signal's size; three times that makes the next token clear."""
    return float(shape[0] ** -0.5) * (3.0 if part == "embedding" else 1.0)


def _spread(part: Part) -> Callable[[tuple[int, ...], np.random.Generator], Floats]:
    def fill(shape: tuple[int, ...], random: np.random.Generator) -> Floats:
        return random.standard_normal(shape[::-1], np.float32) * np.float32(_deviation(part, shape))

    return fill


def _ones(shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    return np.ones(shape[::-1], np.float32)


def _decay(shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Minus the rate at which a delta-net head forgets: always negative, some heads fast and some slow."""
    return -random.uniform(0.02, 1.0, shape[::-1]).astype(np.float32)


FILL: dict[Part, Callable[[tuple[int, ...], np.random.Generator], Floats]] = {
    "ones": _ones,
    "decay": _decay,
    "matrix": _spread("matrix"),
    "embedding": _spread("embedding"),
    "router": _spread("router"),
    "small": _spread("small"),
}

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("model", type=click.Choice(list(SHAPES)))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--vocabulary", type=EXISTING, required=True, help="A GGUF file to copy the vocabulary from.")
@click.option("--layers", type=click.IntRange(min=1), help="Layers to make, if not the usual number.")
@click.option("--template/--no-template", default=True, help="Copy the chat template with the vocabulary.")
def main(model: str, target: Path, vocabulary: Path, layers: int | None, template: bool) -> None:
    """Make a GGUF file with random weights at TARGET, in the shape of MODEL."""
    shape, kind = SHAPES[model]
    shape = replace(shape, layers=layers or shape.layers)
    try:
        make(shape, kind, vocabulary, target, template=template)
    except (ValueError, KeyError) as fault:
        sys.exit(f"cannot make {target}: {fault}")
    click.echo(f"{target}: {model}, {shape.layers} layers, {target.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
