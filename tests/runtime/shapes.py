"""Metadata of real models, as their GGUF files have it, for the tests of shape, memory and fit."""

from __future__ import annotations

from runtime.shape import ModelShape, shape_of


def metadata(architecture: str, **keys: object) -> dict[str, object]:
    """Keys below the architecture's prefix; a double underscore stands for a dot."""
    prefixed = {f"{architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    return {"general.architecture": architecture, **prefixed}


def qwen36_35b(**changes: object) -> dict[str, object]:
    """Qwen3.6-35B-A3B: 30 Gated DeltaNet layers and 10 of full attention, 256 experts of which 8 are used."""
    keys: dict[str, object] = {
        "block_count": 40,
        "context_length": 262144,
        "embedding_length": 2048,
        "attention__head_count": 16,
        "attention__head_count_kv": 2,
        "attention__key_length": 256,
        "attention__value_length": 256,
        "full_attention_interval": 4,
        "ssm__conv_kernel": 4,
        "ssm__inner_size": 4096,
        "ssm__state_size": 128,
        "ssm__group_count": 16,
        "ssm__time_step_rank": 32,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 512,
        "vocab_size": 248320,
    }
    return metadata("qwen35moe", **(keys | changes))


def qwen3_30b() -> dict[str, object]:
    """Qwen3-30B-A3B: 48 layers of full attention."""
    return metadata(
        "qwen3moe",
        block_count=48,
        context_length=40960,
        embedding_length=2048,
        feed_forward_length=6144,
        attention__head_count=32,
        attention__head_count_kv=4,
        attention__key_length=128,
        attention__value_length=128,
        expert_count=128,
        expert_used_count=8,
        expert_feed_forward_length=768,
        vocab_size=151936,
    )


def dense(weight_bytes: int = 98 << 20) -> ModelShape:
    """SmolLM2-135M, with all of its weights in one tensor."""
    keys = metadata(
        "llama",
        block_count=30,
        context_length=8192,
        embedding_length=576,
        feed_forward_length=1536,
        attention__head_count=9,
        attention__head_count_kv=3,
    )
    return shape_of(keys, [("token_embd.weight", "Q8_0", (576, 49152), weight_bytes)])
