"""Sampling options of the real engine, seen in its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.engine import load_engine
from runtime.events import Submit
from runtime.options import Constraint, LoadOptions, SamplingOptions
from tests.runtime.engine_contract import Collector

REPEATING = "The cat sat on the mat. The cat sat on the mat. The cat sat on the"


@pytest.fixture(scope="module")
def engine(dense_gguf: Path) -> Iterator[Collector]:
    loaded = load_engine(str(dense_gguf), "llama", LoadOptions(num_ctx=256, num_parallel=2), lambda _: True)
    yield Collector(loaded)
    loaded.close()


def text(engine: Collector, prompt: str = REPEATING, **options: Any) -> str:
    sampling = SamplingOptions(**{"temperature": 0.0, "num_predict": 6, "seed": 1, **options})
    [reply] = engine.run(Submit(1, prompt, sampling))
    return reply.text


@pytest.mark.parametrize(
    "options",
    [
        {"dry_multiplier": 5.0},
        {"logit_bias": ((" mat", -100.0),)},
        {"repeat_penalty": 8.0, "samplers": ("penalties", "temperature")},
        {"temperature": 0.5, "xtc_probability": 1.0, "xtc_threshold": 0.001},
    ],
)
def test_against_what_it_would_say(engine: Collector, options: dict[str, Any]) -> None:
    assert text(engine).startswith(" mat")
    assert not text(engine, **options).startswith(" mat")


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 1.5, "top_n_sigma": 0.001},
        {"temperature": 1.5, "mirostat": 2, "mirostat_tau": 0.001, "mirostat_eta": 0.0},
        {"temperature": 1.5, "samplers": ("top_k", "temperature"), "top_k": 1},
        {"temperature": 1.0, "dynatemp_range": 0.999, "dynatemp_exponent": 50.0},
        {"temperature": 1.5, "logit_bias": ((" mat", 1000.0),), "num_predict": 1},
    ],
)
def test_towards_what_it_would_say(engine: Collector, options: dict[str, Any]) -> None:
    assert text(engine, **options).startswith(" mat")


def test_the_whole_chain_says_what_the_short_one_does(engine: Collector) -> None:
    """llama.cpp's samplers over all tokens, and ours before them: the same draws."""
    order = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
    options: dict[str, Any] = {
        "temperature": 1.1, "num_predict": 30, "repeat_penalty": 1.2, "min_p": 0.02, "presence_penalty": 0.3,
    }  # fmt: skip
    assert text(engine, "Once upon a time", **options) == text(
        engine, "Once upon a time", samplers=order, **options
    )


def test_ignore_eos(engine: Collector) -> None:
    ended, *_ = engine.run(Submit(1, CHAT, SamplingOptions(temperature=0, num_predict=60)))
    going, *_ = engine.run(Submit(2, CHAT, SamplingOptions(temperature=0, num_predict=60, ignore_eos=True)))
    assert ended.finished.detail == "eos"
    assert going.finished.detail == "num_predict"


CHAT = "<|im_start|>user\nSay only: yes<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("mirostat", [1, 2])
@pytest.mark.parametrize("kind", ["mirostat", "adaptive", "dry"])
def test_samplers_with_a_memory_keep_to_a_constraint(engine: Collector, kind: str, mirostat: int) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "mirostat": {"mirostat": mirostat},
        "adaptive": {"adaptive_target": 0.3},
        "dry": {"dry_multiplier": 2.0, "dry_allowed_length": mirostat},
    }
    sampling = SamplingOptions(temperature=1.5, seed=mirostat, **kinds[kind])
    [reply] = engine.run(Submit(1, CHAT, sampling, constraint=Constraint("regex", "[ab]{3} [0-9]{2}")))
    assert reply.finished.detail == "eos"
    assert set(reply.text) <= set("ab 0123456789")
    assert len(reply.text) == 6


def test_bad_ones_fail_alone(engine: Collector) -> None:
    bad = Submit(1, CHAT, SamplingOptions(mirostat=9))
    failed, other = engine.run(bad, Submit(2, CHAT, SamplingOptions(temperature=0, num_predict=2)))
    assert failed.failed.kind == "bad_request"
    assert "mirostat" in failed.failed.message
    assert other.finished.generated_tokens == 2


def test_a_constraint_that_the_biases_exclude_is_a_clear_failure(engine: Collector) -> None:
    sampling = SamplingOptions(temperature=0, logit_bias=(("5", float("-inf")),))
    [reply] = engine.run(Submit(1, CHAT, sampling, constraint=Constraint("regex", "5")))
    assert "exclude each other" in reply.failed.message
