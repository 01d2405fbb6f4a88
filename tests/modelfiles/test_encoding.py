"""JSON as the store holds it: the bytes that Ollama writes."""

import hashlib
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.encoding import json_line, number, sorted_mapping

FLOATS = Path(__file__).parents[1] / "data" / "go_floats.jsonl"


def test_numbers_are_those_of_go() -> None:
    cases = [json.loads(line) for line in FLOATS.read_text().splitlines()]
    double = [case for case in cases if len(case["bits"]) == 16]
    assert len(double) > 20
    for case in double:
        assert number(struct.unpack(">d", bytes.fromhex(case["bits"]))[0]) == case["text"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_the_same_after_reading(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": float("-inf")}, object(), {"a": b"x"}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"no number|cannot be stored"):
        json_line(value)


def test_whole_numbers_of_any_size() -> None:
    assert (
        json_line([131072, 1 << 53, 10**18, 10**22])
        == b"[131072,9007199254740992,1000000000000000000,1e+22]\n"
    )


def test_the_known_params_layer() -> None:
    stop = ["USER:", "ASSISTANT:"]
    line = json_line(sorted_mapping({"top_k": 10, "temperature": 1.0, "stop": stop}))
    assert line == b'{"stop":["USER:","ASSISTANT:"],"temperature":1,"top_k":10}\n'
    assert (
        hashlib.sha256(line).hexdigest() == "1d0ad71299d48c2fb7ae2b98e683643e771f8a5b72be34942af90d97a91c1e37"
    )


def test_text_is_escaped_as_go_escapes_it() -> None:
    assert json_line({"<|im_end|>": 'a&b>\u2028\u2029\u0085é\n\t\b\f\x01\x7f"\\'}) == (
        '{"\\u003c|im_end|\\u003e":"a\\u0026b\\u003e\\u2028\\u2029\u0085é\\n\\t\\b\\f\\u0001\x7f\\"\\\\"}\n'.encode()
    )


def test_keys_are_sorted_at_every_depth() -> None:
    value = {"b": [{"z": 1, "a": None}], "a": {"y": True, "x": ""}}
    assert json_line(sorted_mapping(value)) == b'{"a":{"x":"","y":true},"b":[{"a":null,"z":1}]}\n'
