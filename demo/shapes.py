"""The shapes of two mixture-of-experts architectures: their metadata and the list of their tensors.

`qwen3moe` is attention with experts in every layer. `qwen35moe` is a hybrid: three gated delta-net layers for
each layer of full attention, and a shared expert beside the routed ones. Keys and tensor names are those that
the loaders of llama.cpp (src/models/qwen3moe.cpp, qwen35moe.cpp) ask for. Values in, values out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from demo.writing import Value, f32, i32_array, text, u32

Part = Literal["ones", "matrix", "embedding", "router", "decay", "small"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor to fill: `part` says what kind of numbers it wants; `shape` is innermost first."""

    name: str
    shape: tuple[int, ...]
    part: Part


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model; `recurrent` is true for the hybrid."""

    architecture: Literal["qwen3moe", "qwen35moe"]
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    experts: int
    experts_used: int
    expert_width: int
    context: int
    delta_heads: int = 0
    delta_key_heads: int = 0
    delta_state: int = 0

    @property
    def recurrent(self) -> bool:
        return self.architecture == "qwen35moe"


CONVOLUTION = 4
FULL_ATTENTION_INTERVAL = 4

TINY_QWEN3MOE = Shape("qwen3moe", 4, 256, 4, 2, 64, 16, 4, 128, 40_960)
TINY_QWEN35MOE = Shape("qwen35moe", 8, 256, 4, 2, 64, 16, 4, 128, 262_144, 4, 2, 64)
QWEN3_30B_A3B = Shape("qwen3moe", 48, 2048, 32, 4, 128, 128, 8, 768, 40_960)


def metadata(shape: Shape, name: str) -> dict[str, Value]:
    """Everything but the vocabulary."""
    prefix = shape.architecture
    keys = {
        "block_count": u32(shape.layers),
        "context_length": u32(shape.context),
        "embedding_length": u32(shape.width),
        "feed_forward_length": u32(shape.expert_width * shape.experts_used),
        "attention.head_count": u32(shape.heads),
        "attention.head_count_kv": u32(shape.kv_heads),
        "attention.key_length": u32(shape.head_size),
        "attention.value_length": u32(shape.head_size),
        "attention.layer_norm_rms_epsilon": f32(1e-6),
        "rope.freq_base": f32(1e6),
        "expert_count": u32(shape.experts),
        "expert_used_count": u32(shape.experts_used),
        "expert_feed_forward_length": u32(shape.expert_width),
    }
    if shape.recurrent:
        keys |= _hybrid_keys(shape)
    general = {
        "general.architecture": text(shape.architecture),
        "general.type": text("model"),
        "general.name": text(name),
        "general.quantization_version": u32(2),
    }
    return general | {f"{prefix}.{key}": value for key, value in keys.items()}


def slots(shape: Shape, vocabulary: int) -> Iterator[Slot]:
    """All tensors, in the order of the file."""
    yield Slot("token_embd.weight", (shape.width, vocabulary), "embedding")
    yield Slot("output_norm.weight", (shape.width,), "ones")
    yield Slot("output.weight", (shape.width, vocabulary), "embedding")
    for layer in range(shape.layers):
        yield from _layer(shape, layer)


def _hybrid_keys(shape: Shape) -> dict[str, Value]:
    rotated = shape.head_size // 2
    sections = [rotated // 4, rotated // 8, rotated // 8, 0]  # pairs, so half of the rotated dimensions
    return {
        "rope.dimension_count": u32(rotated),
        "rope.dimension_sections": i32_array(sections),
        "expert_shared_feed_forward_length": u32(shape.expert_width),
        "full_attention_interval": u32(FULL_ATTENTION_INTERVAL),
        "ssm.conv_kernel": u32(CONVOLUTION),
        "ssm.inner_size": u32(shape.delta_state * shape.delta_heads),
        "ssm.state_size": u32(shape.delta_state),
        "ssm.time_step_rank": u32(shape.delta_heads),
        "ssm.group_count": u32(shape.delta_key_heads),
    }


def _layer(shape: Shape, layer: int) -> Iterator[Slot]:
    block = f"blk.{layer}"
    after_attention = "post_attention_norm" if shape.recurrent else "ffn_norm"
    yield Slot(f"{block}.attn_norm.weight", (shape.width,), "ones")
    yield Slot(f"{block}.{after_attention}.weight", (shape.width,), "ones")
    if shape.recurrent and (layer + 1) % FULL_ATTENTION_INTERVAL:
        yield from _delta_net(shape, block)
    else:
        yield from _attention(shape, block)
    yield from _experts(shape, block)


def _attention(shape: Shape, block: str) -> Iterator[Slot]:
    queries = shape.heads * shape.head_size
    keys = shape.kv_heads * shape.head_size
    gated = 2 if shape.recurrent else 1  # the hybrid's query projection carries the output gate too
    yield Slot(f"{block}.attn_q.weight", (shape.width, queries * gated), "matrix")
    yield Slot(f"{block}.attn_k.weight", (shape.width, keys), "matrix")
    yield Slot(f"{block}.attn_v.weight", (shape.width, keys), "matrix")
    yield Slot(f"{block}.attn_output.weight", (queries, shape.width), "matrix")
    yield Slot(f"{block}.attn_q_norm.weight", (shape.head_size,), "ones")
    yield Slot(f"{block}.attn_k_norm.weight", (shape.head_size,), "ones")


def _delta_net(shape: Shape, block: str) -> Iterator[Slot]:
    values = shape.delta_heads * shape.delta_state
    mixed = 2 * shape.delta_key_heads * shape.delta_state + values
    yield Slot(f"{block}.attn_qkv.weight", (shape.width, mixed), "matrix")
    yield Slot(f"{block}.attn_gate.weight", (shape.width, values), "matrix")
    yield Slot(f"{block}.ssm_conv1d.weight", (CONVOLUTION, mixed), "small")
    yield Slot(f"{block}.ssm_dt.bias", (shape.delta_heads,), "small")
    yield Slot(f"{block}.ssm_a", (shape.delta_heads,), "decay")
    yield Slot(f"{block}.ssm_beta.weight", (shape.width, shape.delta_heads), "matrix")
    yield Slot(f"{block}.ssm_alpha.weight", (shape.width, shape.delta_heads), "matrix")
    yield Slot(f"{block}.ssm_norm.weight", (shape.delta_state,), "ones")
    yield Slot(f"{block}.ssm_out.weight", (values, shape.width), "matrix")


def _experts(shape: Shape, block: str) -> Iterator[Slot]:
    width, hidden, experts = shape.width, shape.expert_width, shape.experts
    yield Slot(f"{block}.ffn_gate_inp.weight", (width, experts), "router")
    yield Slot(f"{block}.ffn_gate_exps.weight", (width, hidden, experts), "matrix")
    yield Slot(f"{block}.ffn_up_exps.weight", (width, hidden, experts), "matrix")
    yield Slot(f"{block}.ffn_down_exps.weight", (hidden, width, experts), "matrix")
    if shape.recurrent:
        yield Slot(f"{block}.ffn_gate_inp_shexp.weight", (width,), "small")
        yield Slot(f"{block}.ffn_gate_shexp.weight", (width, hidden), "matrix")
        yield Slot(f"{block}.ffn_up_shexp.weight", (width, hidden), "matrix")
        yield Slot(f"{block}.ffn_down_shexp.weight", (hidden, width), "matrix")
