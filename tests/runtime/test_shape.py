"""Shapes of real architectures from their metadata."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.memory import cache_bytes_per_token
from runtime.shape import MAX_LAYERS, shape_of
from tests.runtime.shapes import metadata, qwen3_30b, qwen36_35b

MIB = 1 << 20


def test_qwen36_35b_a3b() -> None:
    shape = shape_of(qwen36_35b())
    assert cache_bytes_per_token(shape) == 20_480
    assert shape.state_bytes / MIB == pytest.approx(62.8, abs=0.05)
    assert (shape.n_layer, shape.n_expert, shape.n_expert_used, shape.n_ctx_train) == (40, 256, 8, 262144)


def test_a_block_for_multi_token_prediction_is_not_counted() -> None:
    tensors = [
        ("blk.39.ffn_up_exps.weight", "Q4_K", (2048, 512, 256), 150),
        ("blk.40.ffn_up_exps.weight", "Q4_K", (2048, 512, 256), 150),
        ("blk.40.nextn.eh_proj.weight", "Q4_K", (4096, 2048), 5),
        ("output.weight", "Q6_K", (2048, 248320), 400),
    ]
    shape = shape_of(qwen36_35b(block_count=41, nextn_predict_layers=1), tensors)
    assert shape.n_layer == 40
    assert cache_bytes_per_token(shape) == 20_480
    assert (shape.weight_bytes, shape.expert_bytes) == (550, 150)
    assert shape.weight_types == ("Q4_K", "Q6_K")


def test_the_interval_has_a_default_for_the_families_that_leave_it_out() -> None:
    keys = qwen36_35b()
    del keys["qwen35moe.full_attention_interval"]
    assert cache_bytes_per_token(shape_of(keys)) == 20_480


def test_listed_recurrent_layers_win() -> None:
    listed = [True] * 38 + [False] * 2
    shape = shape_of(qwen36_35b(attention__recurrent_layers=listed))
    assert cache_bytes_per_token(shape) == 2 * 2048
    assert [layer.state_elements > 0 for layer in shape.layers] == listed


def test_qwen3_30b_a3b() -> None:
    """48 layers x (K and V) x 4 heads x 128 x 2 bytes."""
    shape = shape_of(qwen3_30b())
    assert cache_bytes_per_token(shape) == 48 * 2 * 4 * 128 * 2
    assert shape.state_bytes == 0


def test_heads_default_to_the_query_heads_and_the_embedding() -> None:
    keys = metadata("llama", block_count=32, embedding_length=4096, attention__head_count=32)
    assert cache_bytes_per_token(shape_of(keys)) == 32 * 2 * 4096 * 2


def test_kv_heads_one_number_a_layer() -> None:
    keys = metadata(
        "openelm",
        block_count=4,
        embedding_length=1280,
        attention__head_count=[12, 12, 12, 16],
        attention__head_count_kv=(3, 3, 4, 5),
        attention__key_length=64,
        attention__value_length=64,
    )
    assert cache_bytes_per_token(shape_of(keys)) == (3 + 3 + 4 + 5) * 2 * 64 * 2


def test_jamba_is_recurrent_where_it_has_no_kv_heads() -> None:
    keys = metadata(
        "jamba",
        block_count=8,
        embedding_length=4096,
        attention__head_count=32,
        attention__head_count_kv=[0, 0, 0, 0, 8, 0, 0, 0],
        ssm__conv_kernel=4,
        ssm__inner_size=8192,
        ssm__state_size=16,
    )
    shape = shape_of(keys)
    assert cache_bytes_per_token(shape) == 2 * 8 * 128 * 2
    assert shape.state_bytes == 7 * 4 * (3 * 8192 + 16 * 8192)


def test_nemotron_h_has_layers_that_are_neither() -> None:
    keys = metadata(
        "nemotron_h",
        block_count=4,
        embedding_length=1024,
        attention__head_count=8,
        attention__head_count_kv=[0, 0, 2, 0],
        feed_forward_length=[0, 4096, 0, 0],
        ssm__conv_kernel=4,
        ssm__inner_size=2048,
        ssm__state_size=64,
        ssm__group_count=8,
    )
    states = [layer.state_elements > 0 for layer in shape_of(keys).layers]
    assert states == [True, False, False, True]


def test_falcon_h1_keeps_both_in_every_layer() -> None:
    keys = metadata(
        "falcon-h1",
        block_count=2,
        embedding_length=1024,
        attention__head_count=8,
        attention__head_count_kv=2,
        ssm__conv_kernel=4,
        ssm__inner_size=2048,
        ssm__state_size=128,
        ssm__group_count=1,
    )
    shape = shape_of(keys)
    assert cache_bytes_per_token(shape) == 2 * 2 * 2 * 128 * 2
    assert shape.state_bytes == 2 * 4 * (3 * (2048 + 2 * 128) + 128 * 2048)


def test_latent_attention_keeps_keys_only() -> None:
    """DeepSeek-V3 as converted today: 576 elements a token and layer."""
    keys = metadata(
        "deepseek2",
        block_count=61,
        embedding_length=7168,
        attention__head_count=128,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
        attention__kv_lora_rank=512,
    )
    assert cache_bytes_per_token(shape_of(keys)) == 61 * 576 * 2


def test_layers_that_share_a_cache_have_none() -> None:
    keys = metadata(
        "gemma4",
        block_count=30,
        embedding_length=2048,
        attention__head_count=8,
        attention__head_count_kv=2,
        attention__key_length=256,
        attention__value_length=256,
        attention__shared_kv_layers=10,
    )
    assert cache_bytes_per_token(shape_of(keys)) == 20 * 2 * 2 * 256 * 2


def test_rwkv_and_lfm2_states() -> None:
    rwkv = metadata("rwkv7", block_count=2, embedding_length=768, attention__head_count=0, wkv__head_size=64)
    assert shape_of(rwkv).state_bytes == 2 * 4 * (2 * 768 + 768 * 64)
    lfm2 = metadata(
        "lfm2",
        block_count=2,
        embedding_length=1024,
        attention__head_count=16,
        attention__head_count_kv=[0, 8],
        shortconv__l_cache=3,
    )
    assert shape_of(lfm2).state_bytes == 4 * 2 * 1024
    assert cache_bytes_per_token(shape_of(lfm2)) == 2 * 8 * 64 * 2


def test_the_vocabulary_is_as_long_as_its_embedding() -> None:
    shape = shape_of(metadata("llama"), [("token_embd.weight", "F16", (8, 32000), 512000)])
    assert shape.n_vocab == 32000


VALUES = st.one_of(
    st.integers(-(2**63), 2**63), st.floats(), st.text(max_size=3), st.none(), st.booleans(),
    st.lists(st.integers(-3, 2**40), max_size=5),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_nonsense_never_raises_and_costs_little(data: st.DataObject) -> None:
    keys = {key: data.draw(VALUES) for key in qwen36_35b() if key != "general.architecture"}
    shape = shape_of({"general.architecture": "qwen35moe", **keys})
    assert shape.n_layer <= MAX_LAYERS
    assert cache_bytes_per_token(shape) >= 0
    assert shape.state_bytes >= 0
