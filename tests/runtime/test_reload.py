"""Which requests make a model load again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.options import LoadOptions
from runtime.reload import differing_options
from tests.runtime.shapes import dense

LOADED = LoadOptions(num_ctx=2048, num_parallel=4, num_thread=2)


def differing(wanted: LoadOptions, *explicit: str, loaded: LoadOptions = LOADED) -> tuple[str, ...]:
    return differing_options(dense(), loaded, loaded, wanted, frozenset(explicit))


def test_what_the_caller_did_not_give_never_counts() -> None:
    assert differing(LoadOptions(num_ctx=2048, num_batch=64, cpu_moe=True, cache_type_k="q8_0")) == ()


@pytest.mark.parametrize(("loaded", "expected"), [(1024, ("num_ctx",)), (4096, ()), (8192, ())])
def test_the_usual_context_is_missed_but_a_larger_one_is_kept(loaded: int, expected: tuple[str, ...]) -> None:
    assert differing(LoadOptions(num_ctx=4096), loaded=LoadOptions(num_ctx=loaded)) == expected


def test_a_usual_context_that_memory_cut_short_is_not_asked_for_again() -> None:
    asked, effective = LoadOptions(num_ctx=4096), LoadOptions(num_ctx=1024)
    assert differing_options(dense(), asked, effective, LoadOptions(num_ctx=4096), frozenset()) == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_ctx", 4096),
        ("num_ctx", 512),
        ("num_batch", 64),
        ("num_gpu", 0),
        ("main_gpu", 1),
        ("use_mmap", False),
        ("num_thread", 1),
        ("flash_attention", False),
        ("cache_type_k", "q8_0"),
        ("num_cpu_moe", 3),
        ("cpu_moe", True),
        ("tensor_overrides", {"x": "CPU"}),
    ],
)
def test_a_given_option_that_differs_loads_again(name: str, value: object) -> None:
    assert differing(replace(LOADED, **{name: value}), name) == (name,)


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_gpu", -1), ("num_thread", 0), ("main_gpu", None), ("use_mmap", None), ("num_parallel", 1)],
)
def test_automatic_values_are_content_with_anything(name: str, value: object) -> None:
    loaded = replace(LOADED, num_gpu=3, main_gpu=1, use_mmap=False)
    assert differing(replace(loaded, **{name: value}), name, loaded=loaded) == ()


def test_the_same_options_given_again() -> None:
    assert differing(LOADED, *LoadOptions.__struct_fields__) == ()


def test_a_context_beyond_the_trained_one_is_the_trained_one() -> None:
    loaded = LoadOptions(num_ctx=8192)
    assert differing(LoadOptions(num_ctx=131072), "num_ctx", loaded=loaded) == ()


def test_asking_again_for_what_memory_did_not_allow_does_not_load_again() -> None:
    asked, effective = LoadOptions(num_ctx=8192), LoadOptions(num_ctx=2560)
    for num_ctx, expected in [(8192, ()), (2560, ()), (4096, ("num_ctx",))]:
        wanted = LoadOptions(num_ctx=num_ctx)
        names = differing_options(dense(), asked, effective, wanted, frozenset({"num_ctx"}))
        assert names == expected


def test_what_decides_the_answer_counts_even_when_it_was_not_given() -> None:
    """Another tag of the same weights must not be answered with this tag's number of experts."""
    loaded = LoadOptions(num_experts_used=2, kv_overrides={"a.b": 1})
    assert differing(LoadOptions(), loaded=loaded) == ("num_experts_used", "kv_overrides")
    assert differing(loaded, loaded=loaded) == ()
