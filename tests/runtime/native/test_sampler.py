"""The sampler: our top-k against numpy's, and whole chains against plain arithmetic."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.binding.library import ffi, lib

OFF: dict[str, Any] = {
    "seed": 1, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "temperature": 1.0,
    "repeat_last_n": 0, "repeat_penalty": 1.0,
}  # fmt: skip


def draw(logits: np.ndarray, times: int, history: list[int] | None = None, **options: Any) -> list[int]:
    size = len(logits)
    sampler, scratch = ffi.new("shim_sampler *"), ffi.new("shim_scratch *")
    candidates = ffi.new("llama_token_data[]", size)
    scratch.candidates, scratch.n_vocab = candidates, size
    assert lib.shim_sampler_init(sampler, ffi.new("shim_sampling *", {**OFF, **options}), size)
    past = history or []
    tokens = []
    for _ in range(times):
        copy = logits.astype(np.float32).copy()  # penalties work in place
        tokens.append(
            lib.shim_sampler_next(sampler, scratch, ffi.from_buffer("float[]", copy), past, len(past))
        )
    lib.shim_sampler_free(sampler)
    return tokens


@settings(deadline=None)
@given(st.integers(1, 9000), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_top_k_equals_a_full_sort(size: int, k: int, seed: int) -> None:
    logits = np.random.default_rng(seed).normal(size=size).astype(np.float32).round(1)  # with ties
    out = ffi.new("llama_token_data[]", size)
    count = lib.shim_select_top(ffi.from_buffer("float[]", logits), size, k, out)
    assert count == min(k, size)
    best = np.sort(logits)[::-1][:count]
    assert [out[i].logit for i in range(count)] == best.tolist()
    assert len({out[i].id for i in range(count)}) == count
    assert all(logits[out[i].id] == out[i].logit for i in range(count))


def test_what_is_no_number_is_never_chosen() -> None:
    logits = np.array([np.nan, 1.0, -np.inf, np.nan], dtype=np.float32)
    assert set(draw(logits, 5)) == {1}
    assert set(draw(logits, 5, temperature=0.0)) == {1}
    assert draw(np.full(9, np.nan, dtype=np.float32), 1) == [-1]


def test_greedy_takes_the_first_of_equals() -> None:
    assert draw(np.array([0.0, 3.0, 3.0]), 2, temperature=0.0) == [1, 1]


@pytest.mark.parametrize("top_k", [0, 5])
def test_draws_follow_the_distribution(top_k: int) -> None:
    logits = np.array([2.0, 1.0, 0.0, -1.0, -2.0])
    counts = Counter(draw(logits, 20_000, top_k=top_k))
    expected = np.exp(logits) / np.exp(logits).sum()
    assert [counts[i] / 20_000 for i in range(5)] == pytest.approx(expected.tolist(), abs=0.015)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"top_k": 2}, {0, 1}),
        ({"top_p": 0.6}, {0}),  # the best one alone has 0.64
        ({"top_p": 0.7}, {0, 1}),
        ({"min_p": 0.3}, {0, 1}),  # e^-1 = 0.37, e^-2 = 0.14
        ({"temperature": 0.01}, {0}),
    ],
)
@pytest.mark.parametrize("top_k", [0, 4])
def test_each_option_cuts_where_it_should(options: dict[str, Any], allowed: set[int], top_k: int) -> None:
    logits = np.array([2.0, 1.0, 0.0, -1.0, -2.0])
    assert set(draw(logits, 3000, **{"top_k": top_k, **options})) == allowed


def test_seeds() -> None:
    logits = np.zeros(1000)
    assert draw(logits, 20, seed=7) == draw(logits, 20, seed=7)
    assert draw(logits, 20, seed=7) != draw(logits, 20, seed=8)


def test_penalties() -> None:
    """Positive logits are divided, negative ones multiplied; counts times frequency, presence once."""
    logits = np.array([4.0, 3.0, 1.0])
    greedy = {"temperature": 0.0, "repeat_last_n": -1}
    assert draw(logits, 1, [0], repeat_penalty=2.0, **greedy) == [1]
    assert draw(logits, 1, [0, 1], presence_penalty=3.5, **greedy) == [2]
    assert draw(logits, 1, [0, 0, 1], frequency_penalty=0.6, **greedy) == [0]
    assert draw(logits, 1, [0, 0, 0, 1], frequency_penalty=0.6, **greedy) == [1]
    assert draw(np.array([-1.0, -1.5]), 1, [0], repeat_penalty=2.0, **greedy) == [1]


def test_penalties_look_at_the_last_tokens_only() -> None:
    logits = np.array([4.0, 3.0, 1.0])
    options = {"temperature": 0.0, "repeat_penalty": 10.0}
    assert draw(logits, 1, [0, 2, 2], repeat_last_n=2, **options) == [0]
    assert draw(logits, 1, [0, 2, 2], repeat_last_n=3, **options) == [1]
    assert draw(logits, 1, [0, 2, 2], repeat_last_n=0, **options) == [0]
