"""Bodies as Go's decoder reads them; `go_bodies.jsonl` holds what Go 1.26 said of each."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.bodies import Struct, decode
from shim.bodykinds import Raw
from shim.errors import ApiError
from shim.ollama import fields

SHAPES: dict[str, Struct] = {
    name: getattr(fields, name.upper()) for name in ("generate", "chat", "create", "show", "delete", "copy")
}
CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "go_bodies.jsonl").read_text().splitlines()
]


def error_of(body: bytes, shape: Struct) -> str:
    """The text of the refusal, or an empty one."""
    try:
        decode(body, shape)
    except ApiError as error:
        return error.message if error.status == 400 else f"status {error.status}"
    return ""


def test_errors_are_those_of_go() -> None:
    for case in CASES:
        body = base64.b64decode(case["body_base64"]) if "body_base64" in case else case["body"].encode()
        assert error_of(body, SHAPES[case["type"]]) == case["error"], body


@pytest.mark.parametrize("name", ["tools", "options", "format", "keep_alive", "think"])
@pytest.mark.parametrize("empty", ["null", '""', "[]", "{}"])
def test_empty_values_mean_not_given(name: str, empty: str) -> None:
    assert decode(f'{{"{name}":{empty}}}'.encode(), fields.CHAT) == {}


@pytest.mark.parametrize("name", ["images", "template", "system"])
@pytest.mark.parametrize("empty", ["null", '""', "[]", "{}"])
def test_empty_values_of_generate_mean_not_given(name: str, empty: str) -> None:
    assert decode(f'{{"{name}":{empty}}}'.encode(), fields.GENERATE) == {}


def test_an_empty_context_is_given() -> None:
    assert decode(b'{"context":[],"prompt":""}', fields.GENERATE) == {"context": [], "prompt": ""}


def test_a_whole_chat() -> None:
    body = {
        "model": "m",
        "messages": [
            {"role": "USER", "content": "hi", "images": ["aGk="], "extra": 1},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2.5}}}
            ]},
            None,
        ],
        "tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": {"x": [1]}}}],
        "format": {"type": "object"},
        "keep_alive": "90s",
        "think": "low",
        "tool_choice": "auto",
    }  # fmt: skip
    assert decode(json.dumps(body).encode(), fields.CHAT) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi", "images": [b"hi"]},
            {"role": "assistant", "tool_calls": [
                {"id": "c", "function": {"name": "f", "arguments": {"b": 1, "a": 2.5}}}
            ]},
            {},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": [1]}}}],
        "format": Raw('{"type":"object"}', {"type": "object"}),
        "keep_alive": 90.0,
        "think": "low",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("-1", -1.0),
        ("-1.0", -1.0),
        ("1800", 1800.0),
        ('"5m"', 300.0),
        ('"-5m"', -1.0),
        ("0.5", 0.5),
    ],
)
def test_keep_alive_in_seconds(text: str, seconds: float) -> None:
    assert decode(f'{{"keep_alive":{text}}}'.encode(), fields.CHAT) == {"keep_alive": seconds}


def test_keys_match_in_any_case_and_the_last_wins() -> None:
    assert decode(b'{"MODEL":"a"}', fields.SHOW) == {"model": "a"}
    assert decode(b'{"model":"a","Model":"b"}', fields.SHOW) == {"model": "b"}
    assert decode(b'{"model":"a","Model":"b","model":"c"}', fields.SHOW) == {"model": "c"}
    assert decode(b'{"Model":"b","model":"a","x":[]}', fields.SHOW) == {"model": "a"}


def test_only_the_first_value_is_read() -> None:
    assert decode(b' {"model":"a"} {"model":', fields.SHOW) == {"model": "a"}


def test_what_is_no_utf8_is_replaced() -> None:
    assert decode(b'{"model":"a\xff\\ud800b"}', fields.SHOW) == {"model": "a\ufffd\ufffdb"}
    assert decode(b'{"model":"\\ud83d\\ude00"}', fields.SHOW) == {"model": "\U0001f600"}


@pytest.mark.parametrize("format_", ['"yaml"', "[1, 2.50]", "12e0", "false", '{ "a" :1e2 }'])
def test_a_format_keeps_its_spelling(format_: str) -> None:
    # Trailing bytes send the body to the exact reader, as does every format that is no object and not "json".
    raw = decode(f'{{"format": {format_} }} x'.encode(), fields.CHAT)["format"]
    assert isinstance(raw, Raw)
    assert raw.text == format_


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    for depth in (150, 250, 5_000, 200_000):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            nested = (opening * depth + "1" + closing * depth).encode()
            error = error_of(b'{"options":{"x":' + nested + b"}}", fields.CHAT)
            assert error == ("" if depth == 150 else f"invalid character '{opening[0]}' exceeded max depth")


KEYS = ["model", "messages", "role", "content", "tools", "function", "arguments", "format", "Think"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(KEYS) | st.text(max_size=4),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON, st.sampled_from(sorted(SHAPES)))
def test_any_json_is_read_or_refused_with_400(value: object, shape: str) -> None:
    error_of(json.dumps(value).encode(), SHAPES[shape])


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_400(body: bytes) -> None:
    error_of(body, fields.CHAT)


@given(JSON, st.sampled_from(sorted(SHAPES)))
def test_both_passes_read_the_same(value: Any, shape: str) -> None:
    body = json.dumps(value, separators=(",", ":")).encode()
    quick, exact = error_of(body, SHAPES[shape]), error_of(body + b" trailing", SHAPES[shape])
    assert quick == exact
    if not quick:
        assert repr(decode(body, SHAPES[shape])) == repr(decode(body + b" trailing", SHAPES[shape]))
