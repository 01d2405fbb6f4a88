"""Precedence, types and exact texts of options."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.parameters import CACHE_TYPES, PARAMETERS
from runtime.options import LoadOptions, SamplingOptions
from shim.errors import ApiError
from shim.options import Merged, OptionDefaults, merge


def merged(request: dict[str, object], parameters: dict[str, object] | None = None) -> Merged:
    return merge(OptionDefaults(), parameters or {}, request)


def test_nothing_given_is_the_defaults() -> None:
    result = merged({})
    assert result.load == LoadOptions()
    assert result.sampling == SamplingOptions()
    assert (result.explicit, result.requested, result.ignored) == (frozenset(), frozenset(), ())


def test_the_request_wins_over_the_model_and_the_model_over_the_environment() -> None:
    defaults = OptionDefaults(num_ctx=2048, num_parallel=3, flash_attention=True, cache_type="q8_0")
    parameters: dict[str, object] = {"num_ctx": 8192, "temperature": 0.1, "top_k": 5, "cache_type_v": "f16"}
    result = merge(defaults, parameters, {"temperature": 0.9, "num_gpu": 0})
    assert result.load == LoadOptions(
        num_ctx=8192, num_parallel=3, num_gpu=0, flash_attention=True, cache_type_k="q8_0", cache_type_v="f16"
    )
    assert result.sampling == SamplingOptions(temperature=0.9, top_k=5)
    assert result.explicit == {"num_ctx", "num_gpu", "cache_type_v"}
    assert result.requested == {"num_gpu"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"top_k": "40"}, 'option "top_k" must be of type integer'),
        ({"top_k": True}, 'option "top_k" must be of type integer'),
        ({"temperature": "hot"}, 'option "temperature" must be of type float32'),
        ({"temperature": False}, 'option "temperature" must be of type float32'),
        ({"use_mmap": 1}, 'option "use_mmap" must be of type boolean'),
        ({"stop": "x"}, 'option "stop" must be of type array'),
        ({"stop": ["x", 1]}, 'option "stop" must be of an array of strings'),
        ({"tool_call_parser": 3}, 'option "tool_call_parser" must be of type string'),
        ({"chat_template_kwargs": "x"}, 'option "chat_template_kwargs" must be of type object'),
        ({"num_experts_used": 0}, 'option "num_experts_used" must be at least 1'),
        ({"num_experts_used": 1.5e300, "top_k": []}, ""),
        ({"cache_type_k": "q9"}, f'option "cache_type_k" must be one of {", ".join(CACHE_TYPES)}'),
    ],
)  # fmt: skip
def test_wrong_types_are_500_with_ollamas_text(options: dict[str, object], text: str) -> None:
    if not text:
        merged(options)
        return
    for request, parameters in ((options, {}), ({}, options)):
        with pytest.raises(ApiError) as caught:
            merged(request, parameters)
        assert (caught.value.status, caught.value.message) == (500, text)


@pytest.mark.parametrize("empty", [None, "", [], {}])
@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_empty_means_not_given(name: str, empty: object) -> None:
    assert merged({name: empty}) == merged({})


def test_null_leaves_the_models_value() -> None:
    assert merged({"temperature": None}, {"temperature": 0.2}).sampling.temperature == 0.2


def test_numbers_are_truncated_toward_zero() -> None:
    sampling = merged({"top_k": 1.9, "num_keep": -1.9, "temperature": 1}).sampling
    assert (sampling.top_k, sampling.num_keep, sampling.temperature) == (1, -1, 1.0)


@pytest.mark.parametrize(
    ("asked", "context"), [(0, 4096), (-1, 4096), (1, 4), (3.9, 4), (5, 5), (10**20, 2**31 - 1)]
)
def test_contexts(asked: float, context: int) -> None:
    assert merged({"num_ctx": asked}).load.num_ctx == context


def test_ctx_size_is_num_ctx_unless_both_are_given() -> None:
    assert merged({"ctx_size": 512}, {"num_ctx": 1024}).load.num_ctx == 512
    assert merged({"ctx_size": 512, "num_ctx": 256}).load.num_ctx == 256
    assert merged({"ctx_size": 512}).explicit == {"num_ctx"}


@pytest.mark.parametrize(
    ("seed", "used"), [(0, 0), (-1, -1), (2**32 - 1, 0), (2**32 - 2, 2**32 - 2), (-2, 2**32 - 3)]
)
def test_only_minus_one_is_a_random_seed(seed: int, used: int) -> None:
    assert merged({"seed": seed}).sampling.seed == used


def test_unknown_options_are_named_and_ignored_and_case_matters() -> None:
    result = merged({"tfs_z": 1, "Temperature": 0.1, "zzz": {}})
    assert result.ignored == ("tfs_z", "Temperature", "zzz")
    assert result.sampling == SamplingOptions()


def test_an_assertion_about_experts_is_not_a_load_option() -> None:
    assert merged({"num_experts": 8, "draft_num_predict": 4}).explicit == frozenset()


def test_reply_options() -> None:
    options: dict[str, object] = {"enable_thinking": False, "chat_template_kwargs": {"a": 1}}
    reply = merged(options, {"tool_call_parser": "hermes"}).reply
    assert (reply.enable_thinking, reply.chat_template_kwargs, reply.tool_call_parser) == (
        False,
        {"a": 1},
        "hermes",
    )


def test_mirostat_is_an_option_of_requests_only() -> None:
    options: dict[str, object] = {"mirostat": 2, "mirostat_tau": 4, "mirostat_eta": 0.2}
    sampling = merged(options).sampling
    assert (sampling.mirostat, sampling.mirostat_tau, sampling.mirostat_eta) == (2, 4.0, 0.2)
    assert merged({}, options).sampling == SamplingOptions()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"12": 1, "Hello": -2.5, "3": False}, ((12, 1.0), ("Hello", -2.5), (3, -math.inf))),
        ([[12, 1], ["12", False]], ((12, 1.0), ("12", -math.inf))),
        ({"99999999999": 1, "-1": 2, "٣": 3}, (("99999999999", 1.0), ("-1", 2.0), ("٣", 3.0))),
    ],
)
def test_logit_bias(given: object, read: object) -> None:
    assert merged({"logit_bias": given}).sampling.logit_bias == read


@pytest.mark.parametrize(
    "value", [3, "x", [1], [[1, 2, 3]], {"a": "b"}, {"a": True}, [[None, 1]], [[True, 1]]]
)
def test_logit_bias_of_another_form(value: object) -> None:
    with pytest.raises(ApiError, match='option "logit_bias" must') as caught:
        merged({"logit_bias": value})
    assert caught.value.status == 500


def test_samplers_of_llama_cpp() -> None:
    options: dict[str, object] = {
        "samplers": ["top_k;temperature", "xtc"], "dry_sequence_breakers": ["\n"], "top_n_sigma": 2,
        "xtc_probability": 0.5, "ignore_eos": True, "min_keep": 3,
    }  # fmt: skip
    assert merged(options).sampling == SamplingOptions(
        samplers=("top_k", "temperature", "xtc"), dry_sequence_breakers=("\n",), top_n_sigma=2.0,
        xtc_probability=0.5, ignore_eos=True, min_keep=3,
    )  # fmt: skip


def test_empty_stops_are_dropped() -> None:
    assert merged({"stop": ["", "a"]}).sampling.stop == ("a",)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e300, 1e300) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(PARAMETERS)) | st.text(max_size=4), VALUES, max_size=6))
def test_any_options_are_merged_or_refused(options: dict[str, object]) -> None:
    try:
        merged(options)
    except ApiError as error:
        assert error.message.startswith("option ")  # noqa: PT017  both ways out are right
