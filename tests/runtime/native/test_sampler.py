"""The sampler: our top-k against numpy's, and whole chains against plain arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.binding.library import ffi, lib

OFF: dict[str, Any] = {
    "seed": 1, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "temperature": 1.0,
    "repeat_last_n": 0, "repeat_penalty": 1.0, "adaptive_target": -1.0, "dynatemp_exponent": 1.0,
}  # fmt: skip


def draw(
    logits: np.ndarray, times: int, history: list[int] | None = None, vocab: Any = None, **options: Any
) -> list[int]:
    size = len(logits)
    sampler, scratch = ffi.new("shim_sampler *"), ffi.new("shim_scratch *")
    candidates = ffi.new("llama_token_data[]", size)
    scratch.candidates, scratch.n_vocab = candidates, size
    sampling = ffi.new("shim_sampling *", {**OFF, **options})
    assert lib.shim_sampler_init(sampler, sampling, vocab or ffi.NULL, size)
    past = list(history or [])
    tokens = []
    for _ in range(times):
        copy = logits.astype(np.float32).copy()  # penalties work in place
        tokens.append(
            lib.shim_sampler_next(sampler, scratch, ffi.from_buffer("float[]", copy), past, len(past))
        )
        past.append(max(tokens[-1], 0))
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


def theirs(logits: np.ndarray, times: int, history: list[int], **given: Any) -> list[int]:
    """The same draws by llama.cpp's own chain, built as its tools build it."""
    o = {**OFF, "presence_penalty": 0.0, "frequency_penalty": 0.0, **given}
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    penalties = (o["repeat_last_n"], o["repeat_penalty"], o["frequency_penalty"], o["presence_penalty"])
    for sampler in (
        lib.llama_sampler_init_penalties(len(logits), *penalties),
        lib.llama_sampler_init_top_k(o["top_k"]),
        lib.llama_sampler_init_typical(o["typical_p"], 0),
        lib.llama_sampler_init_top_p(o["top_p"], 0),
        lib.llama_sampler_init_min_p(o["min_p"], 0),
        lib.llama_sampler_init_temp(o["temperature"]),
        lib.llama_sampler_init_dist(o["seed"]),
    ):
        lib.llama_sampler_chain_add(chain, sampler)
    for token in history:
        lib.llama_sampler_accept(chain, token)
    tokens = []
    for _ in range(times):
        data = ffi.new("llama_token_data[]", [(token, float(x), 0.0) for token, x in enumerate(logits)])
        array = ffi.new("llama_token_data_array *", (data, len(logits), -1, False))
        lib.llama_sampler_apply(chain, array)
        tokens.append(array.data[array.selected].id)
        lib.llama_sampler_accept(chain, tokens[-1])
    lib.llama_sampler_free(chain)
    return tokens


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**31),
    st.fixed_dictionaries(
        {
            "temperature": st.sampled_from([0.0, 0.3, 0.8, 1.5]),
            "top_k": st.sampled_from([0, 1, 7, 40, 500]),
            "top_p": st.sampled_from([0.3, 0.9, 1.0]),
            "min_p": st.sampled_from([0.0, 0.05, 0.4]),
            "typical_p": st.sampled_from([0.5, 1.0]),
            "repeat_last_n": st.sampled_from([0, 3, 64]),
            "repeat_penalty": st.sampled_from([1.0, 1.1, 2.0, 0.5]),
            "presence_penalty": st.sampled_from([0.0, 0.5, -0.5]),
            "frequency_penalty": st.sampled_from([0.0, 0.3]),
            "seed": st.integers(0, 2**31),
        }
    ),
)
def test_the_draws_are_those_of_llama_cpp(tiny_vocab: Any, seed: int, options: dict[str, Any]) -> None:
    """Same logits, options and seed: the same forty tokens, so the same probabilities in the same order."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3.0, size=300).astype(np.float32)
    history = rng.integers(0, 300, 20).tolist()
    assert draw(logits, 40, history, tiny_vocab, **options) == theirs(logits, 40, history, **options)


def test_biases_come_first() -> None:
    logits = np.array([4.0, 3.0, 1.0])
    biases = ffi.new("shim_bias[]", [(0, float("-inf")), (2, 2.5)])
    assert draw(logits, 1, temperature=0.0, biases=biases, n_biases=2) == [2]
    assert set(draw(logits, 200, biases=biases, n_biases=2)) == {1, 2}


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"top_n_sigma": 0.5}, {0}),  # deviation 1.41: nothing below 1.29
        ({"top_n_sigma": 1.0}, {0, 1}),
        ({"xtc_probability": 1.0, "xtc_threshold": 0.2}, {1, 2, 3, 4}),
        ({"xtc_probability": 1.0, "xtc_threshold": 0.6}, {0, 1, 2, 3, 4}),
        ({"min_p": 0.9, "min_keep": 2}, {0, 1}),
        ({"order": [lib.SHIM_SAMPLER_TOP_K], "n_order": 1, "top_k": 3, "top_p": 0.1}, {0, 1, 2}),
        ({"mirostat": 2, "mirostat_tau": 0.05, "mirostat_eta": 0.0}, {0}),
        ({"mirostat": 1, "mirostat_tau": 0.01, "mirostat_eta": 0.1, "temperature": 0.2}, {0}),
        ({"mirostat": 1, "temperature": 0.0}, {0}),
        ({"dynatemp_range": 0.99, "temperature": 1.0, "dynatemp_exponent": 40.0}, {0}),
    ],
)
def test_rare_options_cut_where_they_should(
    options: dict[str, Any], allowed: set[int], tiny_vocab: Any
) -> None:
    logits = np.array([2.0, 1.0, 0.0, -1.0, -2.0])
    assert set(draw(logits, 2000, vocab=tiny_vocab, **options)) == allowed


def test_dry_forbids_what_would_repeat(tiny_vocab: Any) -> None:
    """After 1 2 3 … 1 2 comes 3 again, unless each further token of a repeat costs."""
    logits = np.zeros(9)
    logits[3], logits[4] = 2.0, 1.5
    options: dict[str, Any] = {
        "dry_multiplier": 1.0, "dry_base": 2.0, "dry_allowed_length": 2, "dry_penalty_last_n": 64,
        "temperature": 0.0,
    }  # fmt: skip
    assert draw(logits, 1, [1, 2, 3, 5, 1, 2], vocab=tiny_vocab, **options) == [4]
    assert draw(logits, 1, [1, 2, 3, 5, 6, 2], vocab=tiny_vocab, **options) == [3]
    assert draw(logits, 1, [1, 2, 3, 5, 1, 2], temperature=0.0) == [3]


def test_the_whole_chain_remembers_what_it_said(tiny_vocab: Any) -> None:
    order = [lib.SHIM_SAMPLER_PENALTIES, lib.SHIM_SAMPLER_TEMPERATURE]
    options: dict[str, Any] = {"order": order, "n_order": 2, "repeat_penalty": 10.0, "repeat_last_n": 2}
    assert draw(np.array([4.0, 3.0, 2.0]), 4, vocab=tiny_vocab, temperature=0.0, **options) == [0, 1, 2, 0]


@pytest.fixture(scope="module")
def tiny_vocab(dense_gguf: Path) -> Iterator[Any]:
    """Some vocabulary; llama.cpp's samplers ask it for its size or its texts."""
    params = lib.llama_model_default_params()
    params.vocab_only = True
    model = lib.llama_model_load_from_file(str(dense_gguf).encode(), params)
    yield lib.llama_model_get_vocab(model)
    lib.llama_model_free(model)
