"""Typed values of parameters, with the texts of the errors."""

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import ParameterError
from modelfiles.parameters import (
    DEPRECATED,
    PARAMETERS,
    REQUEST_OPTIONS,
    Value,
    add_parameter,
    parse_parameter,
)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("num_ctx", "8192", 8192),
        ("num_ctx", "1.048576e+06", 1048576),
        ("num_ctx", "2e3", 2000),
        ("seed", "+7", 7),
        ("seed", "-9223372036854775808", -(2**63)),
        ("seed", "000000000000000000000000042", 42),
        ("num_gpu", "-1", -1),
        ("top_p", ".95", 0.95),
        ("temperature", "1", 1.0),
        ("temperature", "7.", 7.0),
        ("min_p", "5e-2", 0.05),
        ("temperature", "0.123456789012345", 0.12345679),
        ("temperature", "1e-50", 0.0),
        ("use_mmap", "T", True),
        ("cpu_moe", "0", False),
        ("stop", "[a b]", ["[a b]"]),
        ("stop", "", [""]),
        ("num_experts_used", "2", 2),
        ("num_cpu_moe", "0", 0),
        ("cache_type_k", "Q8_0", "q8_0"),
        ("tool_call_parser", "true", "true"),
        ("enable_thinking", "false", False),
        ("top_n_sigma", "1.5", 1.5),
        ("samplers", "top_k;temperature", ["top_k;temperature"]),
        ("ignore_eos", "true", True),
        ("logit_bias", '{"12": -1}', {"12": -1}),
        (
            "chat_template_kwargs",
            '{"enable_thinking": false, "n": [1]}',
            {"enable_thinking": False, "n": [1]},
        ),
    ],
)
def test_values(name: str, text: str, value: Value) -> None:
    parsed = parse_parameter(name, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("num_ctx", "8k", "invalid int value [8k]"),
        ("num_ctx", "1.5", "invalid int value [1.5]"),
        ("num_ctx", "1.0", "invalid int value [1.0]"),
        ("num_ctx", "1.5e0", "invalid int value [1.5e0]"),
        ("num_ctx", "", "invalid int value []"),
        ("num_ctx", "1_000", "invalid int value [1_000]"),
        ("num_ctx", "٣", "invalid int value [٣]"),
        ("num_ctx", "9223372036854775808", "invalid int value [9223372036854775808]"),
        ("num_ctx", "1e999", "invalid int value [1e999]"),
        ("num_experts_used", "0", "invalid int value [0]"),
        ("temperature", "warm", "invalid float value [warm]"),
        ("temperature", "nan", "invalid float value [nan]"),
        ("temperature", "inf", "invalid float value [inf]"),
        ("temperature", "1e39", "invalid float value [1e39]"),
        ("temperature", "1e999", "invalid float value [1e999]"),
        ("temperature", "0.2 # warm", "invalid float value [0.2 # warm]"),
        ("use_mmap", "yes", "invalid bool value [yes]"),
        ("cache_type_v", "q9", "invalid string value [q9]"),
        ("chat_template_kwargs", "[1]", "invalid object value [[1]]"),
        ("chat_template_kwargs", "{", "invalid object value [{]"),
        ("chat_template_kwargs", '{"a": NaN}', 'invalid object value [{"a": NaN}]'),
        ("warp_factor", "9", "unknown parameter 'warp_factor'"),
        ("", "9", "unknown parameter ''"),
        ("Top_K", "9", "unknown parameter 'Top_K'"),
    ],
)
def test_errors(name: str, text: str, error: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_parameter(name, text)
    assert str(caught.value) == error
    assert caught.value.hint


def test_a_misspelled_name_gets_a_suggestion() -> None:
    with pytest.raises(ParameterError) as caught:
        parse_parameter("num_expert_used", "2")
    assert caught.value.hint == "did you mean num_experts_used?"


def test_stops_add_up_and_of_others_the_last_wins() -> None:
    values: dict[str, Value] = {}
    for name, text in [("stop", "A"), ("seed", "1"), ("stop", "B"), ("seed", "2"), ("ctx_size", "64")]:
        add_parameter(values, name, text)
    assert values == {"stop": ["A", "B"], "seed": 2, "num_ctx": 64}
    add_parameter(values, "num_ctx", "128")
    assert values["num_ctx"] == 128


def test_the_table_is_consistent() -> None:
    assert not DEPRECATED & set(PARAMETERS)
    assert set(REQUEST_OPTIONS) <= DEPRECATED
    for name, parameter in PARAMETERS.items():
        assert name == parameter.name
        assert parameter.help
        assert parameter.alias_of is None or parameter.alias_of in PARAMETERS
    assert sum(parameter.ollama for parameter in PARAMETERS.values()) == 20


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_in_any_notation(number: int) -> None:
    assert parse_parameter("seed", str(number)) == number
    assert parse_parameter("seed", f"{number:.17e}") == number


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_keep_their_single_precision_value(number: float) -> None:
    value = parse_parameter("temperature", repr(number))
    assert isinstance(value, float)
    assert struct.pack("f", value) == struct.pack("f", number)
    assert len(repr(value)) <= len(repr(number))
    assert math.copysign(1, value) == math.copysign(1, number)


@given(st.sampled_from(sorted(PARAMETERS)), st.text(max_size=30))
def test_any_text_is_a_value_or_refused(name: str, text: str) -> None:
    try:
        value = parse_parameter(name, text)
    except ParameterError:
        return
    json.dumps(value, allow_nan=False)
