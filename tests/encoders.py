"""Small models with random weights that make embeddings: encoders of the shape of BERT, and a reranker.

Keys and tensor names are those that llama.cpp's loader asks for; the vocabulary is copied from a real file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType

from demo.random_weights import FILL
from demo.shapes import Slot
from demo.writing import Tensor, Value, as_bytes, f32, read_metadata, text, u32, write_gguf

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT = 2, 128, 4, 256, 512
MEAN, CLS, RANK = 1, 2, 4
F32 = GGMLQuantizationType.F32


def encoder(vocabulary: Path, target: Path, pooling: int) -> None:
    """Write a model with this pooling: arch bert, 512 tokens of context, 128 numbers in a vector."""
    words = read_metadata(GGUFReader(vocabulary))
    kept = {name: value for name, value in words.items() if name.startswith("tokenizer.")}
    kept.pop("tokenizer.chat_template", None)
    kept["tokenizer.ggml.add_bos_token"] = Value(True, GGUFValueType.BOOL)
    kept["tokenizer.ggml.token_type_count"] = u32(2)
    count = len(kept["tokenizer.ggml.tokens"].content)
    slots = [*_slots(count), *(_ranking() if pooling == RANK else ())]
    write_gguf(target, _metadata(pooling) | kept, [_tensor(slot) for slot in slots])


def _metadata(pooling: int) -> dict[str, Value]:
    keys = {
        "block_count": u32(LAYERS),
        "context_length": u32(CONTEXT),
        "embedding_length": u32(WIDTH),
        "feed_forward_length": u32(HIDDEN),
        "attention.head_count": u32(HEADS),
        "attention.layer_norm_epsilon": f32(1e-12),
        "attention.causal": Value(False, GGUFValueType.BOOL),
        "pooling_type": u32(pooling),
    }
    general = {"general.architecture": text("bert"), "general.name": text("Random BERT")}
    return general | {f"bert.{key}": value for key, value in keys.items()}


def _slots(vocabulary: int) -> Iterator[Slot]:
    yield Slot("token_embd.weight", (WIDTH, vocabulary), "embedding")
    yield Slot("token_types.weight", (WIDTH, 2), "small")
    yield Slot("position_embd.weight", (WIDTH, CONTEXT), "small")
    yield from _norm("token_embd_norm")
    for layer in range(LAYERS):
        yield from _layer(f"blk.{layer}")


def _layer(block: str) -> Iterator[Slot]:
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield from _linear(f"{block}.{name}", WIDTH, WIDTH)
    yield from _norm(f"{block}.attn_output_norm")
    yield from _linear(f"{block}.ffn_up", WIDTH, HIDDEN)
    yield from _linear(f"{block}.ffn_down", HIDDEN, WIDTH)
    yield from _norm(f"{block}.layer_output_norm")


def _ranking() -> Iterator[Slot]:
    yield from _linear("cls", WIDTH, WIDTH)
    yield from _linear("cls.output", WIDTH, 1)


def _linear(name: str, width: int, outputs: int) -> Iterator[Slot]:
    yield Slot(f"{name}.weight", (width, outputs), "matrix")
    yield Slot(f"{name}.bias", (outputs,), "small")


def _norm(name: str) -> Iterator[Slot]:
    yield Slot(f"{name}.weight", (WIDTH,), "ones")
    yield Slot(f"{name}.bias", (WIDTH,), "small")


def _tensor(slot: Slot) -> Tensor:
    random = np.random.default_rng(zlib.crc32(slot.name.encode()))
    return Tensor(slot.name, slot.shape, F32, lambda: as_bytes(FILL[slot.part](slot.shape, random)))
