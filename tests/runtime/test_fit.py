"""What is loaded when memory is plenty, short, or not enough."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.errors import InsufficientMemory
from runtime.fit import LEAST_USEFUL_CONTEXT, choose_slots, clamp_context, fit
from runtime.memory import MIB, estimate
from runtime.options import LoadOptions
from runtime.shape import shape_of
from tests.runtime.shapes import dense, metadata, qwen36_35b

GIB = 1024 * MIB


def test_everything_fits_unchanged() -> None:
    options = LoadOptions(num_ctx=4096, num_parallel=2)
    fitted = fit(dense(), options, 8 * GIB)
    assert (fitted.options, fitted.warnings) == (options, ())
    assert fitted.need == estimate(dense(), options)


def test_context_is_clamped_to_the_trained_one_with_a_warning() -> None:
    fitted = fit(dense(), LoadOptions(num_ctx=131072), 64 * GIB)
    assert fitted.options.num_ctx == 8192
    assert fitted.warnings == ("num_ctx 131072 exceeds the 8192 tokens the model was trained for",)


@pytest.mark.parametrize(("asked", "got"), [(0, 4), (-1, 4), (1, 4), (4, 4), (2**31 - 1, 8192)])
def test_silly_contexts(asked: int, got: int) -> None:
    assert clamp_context(dense(), asked) == got


def test_a_model_that_names_no_context_is_not_clamped() -> None:
    assert clamp_context(shape_of(metadata("llama")), 100_000) == 100_000


def test_context_shrinks_to_what_fits() -> None:
    shape = shape_of(qwen36_35b())
    free = estimate(shape, LoadOptions(num_ctx=50_000)).total
    fitted = fit(shape, LoadOptions(num_ctx=262_144), free)
    assert 45_000 < fitted.options.num_ctx <= 50_176
    assert fitted.need.total <= free
    [warning] = fitted.warnings
    assert "num_ctx 262144 needs" in warning
    assert f"using num_ctx {fitted.options.num_ctx}" in warning


def test_too_little_for_anything_useful() -> None:
    with pytest.raises(InsufficientMemory, match="model requires more system memory") as caught:
        fit(dense(4 * GIB), LoadOptions(), 3 * GIB)
    assert caught.value.available_bytes == 3 * GIB
    assert caught.value.required_bytes > 4 * GIB
    assert "4.0 GiB for weights" in caught.value.message
    assert caught.value.kind == "out_of_memory"


def test_a_small_context_is_not_shrunk_further() -> None:
    options = LoadOptions(num_ctx=512)
    need = estimate(dense(), options).total
    assert fit(dense(), options, need).options.num_ctx == 512
    with pytest.raises(InsufficientMemory):
        fit(dense(), options, need - 1)


@pytest.mark.parametrize(("free_gib", "slots"), [(64, 4), (8, 4), (4, 4), (1, 2), (0.7, 1)])
def test_slots_follow_the_free_memory(free_gib: float, slots: int) -> None:
    """SmolLM2 at 4096: 90 MiB a slot, of which an eighth of the free memory may be taken."""
    assert choose_slots(dense(), LoadOptions(num_ctx=4096), int(free_gib * 2 * GIB)) == slots


def test_automatic_slots_give_way_to_the_context() -> None:
    options = LoadOptions(num_ctx=8192)
    free = estimate(dense(), replace(options, num_parallel=1)).total
    fitted = fit(dense(), options, free, auto_slots=True)
    assert (fitted.options.num_parallel, fitted.options.num_ctx, fitted.warnings) == (1, 8192, ())


def least_options(options: LoadOptions, auto: bool) -> LoadOptions:
    """The least that fit() may come down to."""
    asked = clamp_context(dense(), options.num_ctx)
    slots = 1 if auto else options.num_parallel
    return replace(options, num_ctx=min(asked, LEAST_USEFUL_CONTEXT), num_parallel=slots)


@settings(max_examples=100, deadline=None)
@given(
    num_ctx=st.integers(-5, 1 << 20),
    slots=st.integers(1, 8),
    free_mib=st.integers(0, 4000),
    auto=st.booleans(),
)
def test_whatever_is_chosen_fits_and_is_useful(num_ctx: int, slots: int, free_mib: int, auto: bool) -> None:
    options = LoadOptions(num_ctx=num_ctx, num_parallel=slots)
    if estimate(dense(), least_options(options, auto)).total > free_mib * MIB:
        with pytest.raises(InsufficientMemory):
            fit(dense(), options, free_mib * MIB, auto_slots=auto)
        return
    fitted = fit(dense(), options, free_mib * MIB, auto_slots=auto)
    assert fitted.need.total <= free_mib * MIB
    assert fitted.need == estimate(dense(), fitted.options)
    asked = clamp_context(dense(), num_ctx)
    assert fitted.options.num_ctx == asked or LEAST_USEFUL_CONTEXT <= fitted.options.num_ctx < asked
