"""Turns a dense llama GGUF into a Mixtral-style mixture of experts, without training or quantising again.

    python -m demo.upcycle IN.gguf OUT.gguf --experts 8 --used 2 --mode copies

`copies`: every expert is the whole feed-forward network and the router is random. Whatever the router picks,
and however many experts run, the weighted sum is the dense model's output. With a large gain one expert takes
all the weight, so that this holds to the bit; with a gain of 1 the weights are spread, and the sum's rounding
can tip the choice between two tokens that are nearly as likely.
`split`: each expert is one slice of the network, with the last matrix multiplied by the number of experts to
undo the router's equal weights. All experts together are the dense model; fewer are a damaged one.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, ReaderTensor

from demo.experts import copy_experts, split_columns, split_rows
from demo.writing import Bytes, Tensor, Value, as_bytes, copied, read_metadata, text, u32, write_gguf

Mode = Literal["copies", "split"]
ROUTER_SEED = 20_240_111


@dataclass(frozen=True, slots=True)
class Recipe:
    """How many experts to make, how many run for a token, in which way they are made, the router's spread."""

    experts: int
    used: int
    mode: Mode
    gain: float = 1e6

    def __post_init__(self) -> None:
        if not 1 <= self.used <= self.experts <= 1024:
            raise ValueError("--used must be 1 to --experts, and llama.cpp allows 1024 experts at most")


def upcycle(source: Path, target: Path, recipe: Recipe) -> None:
    """Writes `target`; ValueError names what makes `source` unfit."""
    reader = GGUFReader(source)
    metadata = read_metadata(reader)
    architecture = metadata["general.architecture"].content
    if architecture != "llama":
        raise ValueError(f"only architecture llama can be turned into a Mixtral; this file is {architecture}")
    if "llama.expert_count" in metadata:
        raise ValueError("this model is a mixture of experts already")
    width = int(metadata["llama.embedding_length"].content)
    tensors = [made for tensor in reader.tensors for made in _converted(tensor, width, recipe)]
    write_gguf(target, _converted_metadata(metadata, recipe), tensors)


def _converted_metadata(metadata: dict[str, Value], recipe: Recipe) -> dict[str, Value]:
    hidden = int(metadata["llama.feed_forward_length"].content)
    changed = {
        "general.name": text(f"{metadata['general.name'].content} MoE {recipe.experts}x ({recipe.mode})"),
        "llama.expert_count": u32(recipe.experts),
        "llama.expert_used_count": u32(recipe.used),
    }
    if recipe.mode == "split":
        changed["llama.feed_forward_length"] = u32(hidden // recipe.experts)
    return metadata | changed


def _converted(tensor: ReaderTensor, width: int, recipe: Recipe) -> Iterator[Tensor]:
    """What stands in the new file in the place of one tensor of the old one."""
    block, _, part = tensor.name.removesuffix(".weight").rpartition(".")
    if part not in ("ffn_gate", "ffn_up", "ffn_down"):
        yield copied(tensor)
        return
    if part == "ffn_gate":
        layer = int(block.removeprefix("blk."))
        router = f"{block}.ffn_gate_inp.weight"
        yield Tensor(
            router, (width, recipe.experts), GGMLQuantizationType.F32, lambda: _router(layer, width, recipe)
        )
    yield _expert_tensor(tensor, f"{block}.{part}_exps.weight", part, recipe)


def _expert_tensor(tensor: ReaderTensor, name: str, part: str, recipe: Recipe) -> Tensor:
    columns, rows = (int(size) for size in tensor.shape)
    matrix = as_bytes(tensor.data).reshape(rows, -1)
    kind = tensor.tensor_type
    if recipe.mode == "copies":
        shape = (columns, rows, recipe.experts)
        return Tensor(name, shape, kind, lambda: copy_experts(matrix, recipe.experts))
    if part == "ffn_down":
        shape = (columns // recipe.experts, rows, recipe.experts)
        return Tensor(name, shape, kind, lambda: split_columns(matrix, kind, recipe.experts))
    shape = (columns, rows // recipe.experts, recipe.experts)
    return Tensor(name, shape, kind, lambda: split_rows(matrix, recipe.experts))


def _router(layer: int, width: int, recipe: Recipe) -> Bytes:
    """Split: zeros, which weigh all experts alike. Copies: random, the same in every run."""
    size = width * recipe.experts
    if recipe.mode == "split":
        return as_bytes(np.zeros(size, np.float32))
    numbers = np.random.default_rng((ROUTER_SEED, layer)).standard_normal(size, np.float32)
    return as_bytes(numbers * np.float32(recipe.gain * width**-0.5))


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--experts", default=8, show_default=True, help="Experts to make; split wants a power of two.")
@click.option("--used", default=2, show_default=True, help="Experts that run for a token.")
@click.option("--mode", type=click.Choice(["copies", "split"]), default="copies", show_default=True)
@click.option("--gain", default=1e6, show_default=True, help="Spread of the router's logits; 1 is soft.")
def main(source: Path, target: Path, experts: int, used: int, mode: Mode, gain: float) -> None:
    """Make a mixture-of-experts GGUF at TARGET from the dense llama GGUF at SOURCE."""
    try:
        upcycle(source, target, Recipe(experts, used, mode, gain))
    except ValueError as fault:
        sys.exit(f"cannot convert {source}: {fault}")
    click.echo(f"{target}: {experts} experts, {used} used, {target.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
