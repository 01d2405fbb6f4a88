"""How much memory a model needs, estimated before it is loaded. Pure arithmetic on its shape and options.

All numbers are bytes. Weights count in full, mapped or not: a model that does not fit into memory would be
read from disk again for every token. Formulas follow what llama.cpp allocates; the compute buffer, which it
plans itself, is a fitted estimate on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.errors import BadOptions
from runtime.options import LoadOptions
from runtime.shape import ModelShape

MIB = 1 << 20
CONTEXT_STEP = 256  # llama.cpp rounds the context of a slot up to this many tokens
PROCESS_BYTES = 64 * MIB  # interpreter, libraries and tables of a worker
CHECKPOINT_BYTES = 256 * MIB  # the engine's budget a slot for copies of a recurrent state
CHECKPOINT_STRIDE = 4096  # tokens between two such copies

# Bytes a block and elements a block of the types that a cache can have.
CACHE_BLOCKS = {
    "f32": (4, 1),
    "f16": (2, 1),
    "bf16": (2, 1),
    "q8_0": (34, 32),
    "q5_1": (24, 32),
    "q5_0": (22, 32),
    "q4_1": (20, 32),
    "q4_0": (18, 32),
    "iq4_nl": (18, 32),
}


@dataclass(frozen=True, slots=True)
class Need:
    """What a loaded model takes."""

    weights: int
    cache: int
    state: int
    compute: int
    process: int = PROCESS_BYTES

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.cache + self.state + self.compute + self.process

    @property
    def for_slots(self) -> int:
        """What grows with the number of slots."""
        return self.cache + self.state


def cache_bytes_per_token(shape: ModelShape, type_k: str = "f16", type_v: str = "f16") -> int:
    """KV cache that one token takes in all layers; recurrent layers take none."""
    keys = sum(row_bytes(layer.k_elements, type_k) for layer in shape.layers)
    values = sum(row_bytes(layer.v_elements, type_v) for layer in shape.layers)
    return keys + values


def row_bytes(elements: int, cache_type: str) -> int:
    """Bytes of one row of a cache; BadOptions for a type that no cache can have."""
    if cache_type not in CACHE_BLOCKS:
        known = ", ".join(CACHE_BLOCKS)
        raise BadOptions(f"cache type {cache_type!r} is unknown; one of: {known}")
    size, block = CACHE_BLOCKS[cache_type]
    return -(-elements // block) * size


def padded_context(num_ctx: int) -> int:
    """The context that is really allocated for a slot."""
    return -(-num_ctx // CONTEXT_STEP) * CONTEXT_STEP


def estimate(shape: ModelShape, options: LoadOptions) -> Need:
    """What ``shape`` needs with these options. BadOptions for an unknown cache type."""
    num_ctx = padded_context(options.num_ctx)
    per_token = cache_bytes_per_token(shape, options.cache_type_k, options.cache_type_v)
    return Need(
        weights=shape.weight_bytes,
        cache=per_token * num_ctx * options.num_parallel,
        state=(shape.state_bytes + _checkpoint_bytes(shape, num_ctx)) * options.num_parallel,
        compute=_compute_bytes(shape, options, num_ctx),
    )


def _checkpoint_bytes(shape: ModelShape, num_ctx: int) -> int:
    """Copies of one slot's recurrent state that the engine may keep, to go back to an earlier turn."""
    copies = 2 + num_ctx // CHECKPOINT_STRIDE
    return min(copies * shape.state_bytes, max(CHECKPOINT_BYTES, 2 * shape.state_bytes))


def _compute_bytes(shape: ModelShape, options: LoadOptions, num_ctx: int) -> int:
    """The buffer for intermediate results of one physical batch, in f32 unless said otherwise."""
    batch = max(min(options.num_ubatch, options.num_batch), options.num_parallel)
    experts = options.num_experts_used or shape.n_expert_used
    feed_forward = max(2 * shape.n_ff, experts * (2 * shape.n_ff_expert + shape.n_embd))
    attention = max((layer.k_elements + layer.v_elements for layer in shape.layers), default=0)
    streams = 4 * batch * (6 * shape.n_embd + feed_forward + 2 * attention)
    logits = 4 * shape.n_vocab * options.num_parallel
    if options.flash_attention is False:  # the scores of all heads exist at once, with a mask in f32
        return streams + logits + 4 * batch * num_ctx * (shape.n_head + 1)
    return streams + logits + 2 * batch * num_ctx  # a mask in f16
