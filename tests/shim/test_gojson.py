"""Bytes as Go's encoder writes them; `go_floats.jsonl` holds what Go 1.26 printed for given bit patterns."""

from __future__ import annotations

import json
import struct
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim import gojson

DATA = Path(__file__).parent.parent / "data"
FLOATS = [json.loads(line) for line in (DATA / "go_floats.jsonl").read_text().splitlines()]


def test_floats_print_as_in_go() -> None:
    for case in FLOATS:
        bits = bytes.fromhex(case["bits"])
        if len(bits) == 8:
            text = gojson.format_float64(struct.unpack(">d", bits)[0])
        else:
            text = gojson.format_float32(struct.unpack(">f", bits)[0])
        assert text == case["text"], case


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": None, "c": [True, False]}, '{"b":1,"a":null,"c":[true,false]}'),
        ({"x": 1.0, "y": (0.5, 1e-7)}, '{"x":1,"y":[0.5,1e-7]}'),
        ([gojson.Float32(0.1), 0.1], "[0.1,0.1]"),
        ("<a href='x'>&</a>", "\"\\u003ca href='x'\\u003e\\u0026\\u003c/a\\u003e\""),
        ("\b\f\n\r\t\x00\x1f\x7f", '"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f"'),
        ("a\u0085b\u2028c\u2029d", '"a\\u0085b\\u2028c\\u2029d"'),
        ("中文 ÅÂ \U0001f600", '"中文 ÅÂ \U0001f600"'),
        ("half \ud83d end", '"half \ufffd end"'),
        ({"<k>": b"ab"}, '{"\\u003ck\\u003e":"YWI="}'),
        ([], "[]"),
        ({}, "{}"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_values(value: object, text: str) -> None:
    assert gojson.encode(value).decode() == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1, {"a": float("-inf")}]])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="unsupported value"):
        gojson.encode(value)


def test_keys_are_sorted_by_their_bytes_at_every_level() -> None:
    value = {"b": {"é": 1, "z": 2, "Z": 3}, "a": [{"y": 1, "x": 2}]}
    assert gojson.encode(gojson.sorted_keys(value)) == (
        '{"a":[{"x":2,"y":1}],"b":{"Z":3,"z":2,"é":1}}'.encode()
    )


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON_VALUES)
def test_every_value_reads_back_and_is_one_safe_line(value: object) -> None:
    text = gojson.encode(value).decode()
    assert json.loads(text) == value
    assert len(text.splitlines()) <= 1
    assert not set(text) & set("<>&\u0085\u2028\u2029")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_round_trips(number: float) -> None:
    text = gojson.format_float32(number)
    assert struct.unpack("<f", struct.pack("<f", float(text)))[0] == number


@given(st.text(st.characters(exclude_categories=())))
def test_any_string_can_be_written(text: str) -> None:
    assert isinstance(json.loads(gojson.encode_string(text)), str)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_787_313_600_123_456_000, "2026-08-21T12:00:00.123456Z"),
        (1_787_313_600_200_000_000, "2026-08-21T12:00:00.2Z"),
        (1_787_313_600_000_000_001, "2026-08-21T12:00:00.000000001Z"),
    ],
)
def test_utc_times_drop_trailing_zeros(nanoseconds: int, text: str) -> None:
    assert gojson.utc_time(nanoseconds) == text


def test_local_times_name_their_zone() -> None:
    noon = 1_787_313_600_000_000_000
    assert gojson.local_time(noon, timezone(timedelta(hours=2))) == "2026-08-21T14:00:00+02:00"
    assert gojson.local_time(noon, timezone(-timedelta(hours=3, minutes=30))) == "2026-08-21T08:30:00-03:30"
    assert gojson.local_time(noon, timezone(timedelta(0))) == "2026-08-21T12:00:00Z"
