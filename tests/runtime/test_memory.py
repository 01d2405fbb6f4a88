"""Estimates of memory, against sizes that llama.cpp itself reported for these models."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.errors import BadOptions
from runtime.memory import CHECKPOINT_BYTES, MIB, cache_bytes_per_token, estimate, row_bytes
from runtime.options import LoadOptions
from runtime.shape import shape_of
from tests.runtime.shapes import dense, qwen3_30b, qwen36_35b


def test_qwen36_35b_at_64k_takes_a_quarter_more_than_a_gib() -> None:
    need = estimate(shape_of(qwen36_35b()), LoadOptions(num_ctx=65536))
    assert need.cache == 1.25 * 1024 * MIB


@pytest.mark.parametrize(
    ("options", "expected_mib"),
    [
        (LoadOptions(num_ctx=4096), 90.0),
        (LoadOptions(num_ctx=8192), 180.0),
        (LoadOptions(num_ctx=8192, num_parallel=4), 720.0),
        (LoadOptions(num_ctx=8192, cache_type_k="q8_0", cache_type_v="q8_0"), 95.6),
    ],
)
def test_cache_of_smollm2_as_the_engine_reports_it(options: LoadOptions, expected_mib: float) -> None:
    assert estimate(dense(), options).cache / MIB == pytest.approx(expected_mib, abs=0.05)


@pytest.mark.parametrize(
    ("options", "reported_mib"),
    [
        (LoadOptions(num_ctx=4096), 18),
        (LoadOptions(num_ctx=8192, num_parallel=4), 22),
        (LoadOptions(num_ctx=8192, flash_attention=False), 166),
        (LoadOptions(num_ubatch=2048, num_batch=2048), 70),
    ],
)
def test_compute_buffer_is_estimated_on_the_safe_side(options: LoadOptions, reported_mib: int) -> None:
    assert reported_mib <= estimate(dense(), options).compute / MIB <= 1.6 * reported_mib


def test_context_is_rounded_up_as_the_engine_does() -> None:
    shape = shape_of(qwen3_30b())
    per_token = cache_bytes_per_token(shape)
    assert estimate(shape, LoadOptions(num_ctx=1)).cache == 256 * per_token
    assert estimate(shape, LoadOptions(num_ctx=257)).cache == 512 * per_token


def test_state_grows_with_slots_and_not_with_the_context_beyond_its_copies() -> None:
    shape = shape_of(qwen36_35b())
    one = estimate(shape, LoadOptions(num_ctx=4096))
    assert estimate(shape, LoadOptions(num_ctx=4096, num_parallel=4)).state == 4 * one.state
    longest = estimate(shape, LoadOptions(num_ctx=262144))
    assert longest.state == shape.state_bytes + CHECKPOINT_BYTES


def test_more_experts_need_a_larger_buffer() -> None:
    shape = shape_of(qwen3_30b())
    few, many = (estimate(shape, LoadOptions(num_experts_used=n)).compute for n in (1, 64))
    assert few < many


def test_weights_count_in_full_whether_mapped_or_not() -> None:
    options = LoadOptions()
    shape = dense(5000 * MIB)
    for use_mmap in (None, True, False):
        assert estimate(shape, replace(options, use_mmap=use_mmap)).weights == 5000 * MIB


def test_total_is_the_sum() -> None:
    need = estimate(dense(), LoadOptions())
    assert need.total == need.weights + need.cache + need.state + need.compute + need.process
    assert need.for_slots == need.cache


def test_row_bytes() -> None:
    assert [row_bytes(64, kind) for kind in ("f32", "f16", "q8_0", "q4_0")] == [256, 128, 68, 36]
    assert row_bytes(33, "q8_0") == 68
    with pytest.raises(BadOptions, match="'q9' is unknown; one of: f32, f16"):
        row_bytes(64, "q9")
