"""Options of a request as the C engine gets them: checked, bounded, tokens found."""

from __future__ import annotations

import math
from typing import Any

import pytest

from runtime.binding.library import lib
from runtime.binding.sampling import LARGEST, SAMPLERS, NativeSampling, find_biases, find_sampler
from runtime.errors import BadOptions
from runtime.options import SamplingOptions


class Letters:
    """The letters a to z; the last token ends an answer, the one before it is never to be said."""

    size = 28
    ends = (27,)
    suppressed = (26,)

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        return [ord(char) - ord("a") for char in text]

    def check(self, tokens: list[int]) -> None:
        for token in tokens:
            if not 0 <= token < self.size:
                raise BadOptions(f"token {token} is not in the vocabulary")


def native(num_ctx: int = 100, **options: object) -> dict[str, object]:
    return NativeSampling(SamplingOptions(**options), Letters(), num_ctx).fields  # type: ignore[arg-type]


def biases(*, constrained: bool = False, **options: object) -> dict[int, float]:
    found = find_biases(SamplingOptions(**options), Letters(), constrained=constrained)  # type: ignore[arg-type]
    return {int(item["token"]): item["bias"] for item in found}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mirostat": 3}, "mirostat"),
        ({"samplers": ("top_k", "nosuch")}, "'nosuch'"),
        ({"samplers": ("adaptive_p",)}, "adaptive_target"),
        ({"logit_bias": ((28, 1.0),)}, "token 28"),
        ({"dry_sequence_breakers": ("x",) * 65}, "dry_sequence_breakers"),
    ],
)
def test_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(BadOptions, match=text):
        native(**options)


def test_windows_end_at_the_context() -> None:
    fields = native(repeat_last_n=-1, dry_penalty_last_n=2**40)
    assert (fields["repeat_last_n"], fields["dry_penalty_last_n"]) == (100, 100)
    assert native(repeat_last_n=64, num_ctx=32)["repeat_last_n"] == 32


def test_nothing_infinite_reaches_the_arithmetic() -> None:
    fields = native(mirostat_tau=math.inf, dry_base=-math.inf, adaptive_decay=7.0, adaptive_target=2.0)
    assert (fields["mirostat_tau"], fields["dry_base"]) == (LARGEST, -LARGEST)
    assert (fields["adaptive_decay"], fields["adaptive_target"]) == (0.99, 1.0)
    assert biases(logit_bias=((0, math.inf), (1, -1e30)))[0] == LARGEST
    assert biases(logit_bias=((1, -1e30),))[1] == -math.inf


@pytest.mark.parametrize("spelling", ["top_n_sigma", "top-n-sigma", "topnsigma", "Top_N_Sigma"])
def test_spellings_of_a_sampler(spelling: str) -> None:
    assert find_sampler(spelling) == lib.SHIM_SAMPLER_TOP_N_SIGMA


def test_other_names_of_samplers() -> None:
    assert SAMPLERS["temp"] == SAMPLERS["temperature"] == lib.SHIM_SAMPLER_TEMPERATURE
    assert SAMPLERS["typical_p"] == SAMPLERS["typ_p"] == SAMPLERS["typ"]
    assert len(set(SAMPLERS.values())) == 11


def test_order() -> None:
    fields = native(samplers=("temp", "top_k"))
    assert fields["order"] == [lib.SHIM_SAMPLER_TEMPERATURE, lib.SHIM_SAMPLER_TOP_K]
    assert fields["n_order"] == 2


def test_a_text_biases_all_its_tokens() -> None:
    assert biases(logit_bias=(("ab", 1.5), (1, 1.0), (2, -math.inf))) == {
        0: 1.5, 1: 2.5, 2: -math.inf, 26: -math.inf,
    }  # fmt: skip


def test_ignore_eos_holds_but_for_a_constrained_answer() -> None:
    assert biases(ignore_eos=True) == {26: -math.inf, 27: -math.inf}
    assert biases(ignore_eos=True, constrained=True) == {26: -math.inf}


def test_more_samplers_than_there_are_places() -> None:
    with pytest.raises(BadOptions, match="samplers"):
        native(samplers=("top_k",) * 17)
