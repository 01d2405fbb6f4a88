"""Calls behind a tag that only a template tells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.messages import Tool, ToolCall, tool_from_json
from modelfiles.replies.generic import GenericScanner, GenericStyle

TOOLS = tuple(
    tool_from_json({"function": {"name": name, "parameters": {"properties": {}}}})
    for name in ("roll", "roll_all", "weather")
)


def read(tag: str, *pieces: str, tools: tuple[Tool, ...] = TOOLS) -> tuple[list[object], str]:
    """Calls as name and arguments, and all text."""
    scanner = GenericScanner(GenericStyle(tag), tools)
    found = [item for piece in pieces for item in scanner.feed(piece)] + scanner.finish()
    calls: list[object] = [(item.name, item.arguments) for item in found if isinstance(item, ToolCall)]
    return calls, "".join(item for item in found if isinstance(item, str))


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


SIX = ("roll", {"sides": 6})
CUT = '<call>{"name": "roll", "arguments": {"sides": 6'
CASES = [
    ("[TOOL_CALLS]", "[TOOL_CALLS] [" + call("roll", sides=6) + "]", [SIX], ""),
    ("[TOOL_CALLS]", "Sure. [TOOL_CALLS][" + call("roll", sides=6) + ", " + call("weather") + "]</s>",
     [SIX, ("weather", {})], "Sure."),
    ("<tool_call>", "<tool_call>\n" + call("roll", sides=6) + "\n</tool_call>\n<tool_call>" + call("weather"),
     [SIX, ("weather", {})], ""),
    ("<call>", "<call>" + call("roll", sides=6) + "</call> Done.", [SIX], "Done."),
    ("<call>", '<call>roll\n```json\n{"sides": 6}\n```', [SIX], ""),
    ("<call>", '<call>roll {"parameters": "{\\"sides\\": 6}"}', [SIX], ""),
    ("<call>", '<call>{"roll": {"sides": 6}}', [SIX], ""),
    ("<call>", '<call>roll_all {"n": 2}', [("roll_all", {"n": 2})], ""),
    ("<call>", '<call>{"tool_calls": [' + call("roll", sides=6) + "," + call("weather") + "]}",
     [SIX, ("weather", {})], ""),
    ("<call>", "<call>" + call("fly"), [], "<call>" + call("fly")),
    ("<call>", CUT, [], CUT),
    ("<call>", "no tag, roll {}", [], "no tag, roll {}"),
    ("{", " " + call("roll", sides=6), [SIX], ""),
    ("{", '{"type": "function", "function": ' + call("roll", sides=6) + "}", [SIX], ""),
    ("{", "Well: " + call("roll", sides=6), [], "Well: " + call("roll", sides=6)),
    ("{", '{"answer": 1} ' + call("roll", sides=6), [], '{"answer": 1} ' + call("roll", sides=6)),
    ("{", '{"name": "roll"', [], '{"name": "roll"'),
    ("[", "[" + call("roll", sides=6) + "]", [SIX], ""),
    ("[", "[1, 2] is a list", [], "[1, 2] is a list"),
    ("{", "", [], ""),
]  # fmt: skip


@pytest.mark.parametrize(("tag", "text", "calls", "rest"), CASES)
def test_replies(tag: str, text: str, calls: list[object], rest: str) -> None:
    assert read(tag, text) == (calls, rest)


@pytest.mark.parametrize(("tag", "text"), [(tag, text) for tag, text, _, _ in CASES])
def test_pieces_make_no_difference(tag: str, text: str) -> None:
    whole = read(tag, text)
    assert read(tag, *text) == whole
    for at in range(len(text)):
        assert read(tag, text[:at], text[at:]) == whole, at


SIGNS = st.sampled_from(
    ['{"name": "roll", "arguments": {}}', "roll", "roll_all", "<call>", "{", "}", "[", "]", " ", '"', "\n"]
)


@given(st.sampled_from(["<call>", "{", "["]), st.lists(SIGNS, max_size=12).map("".join), st.data())
def test_any_text_in_any_pieces(tag: str, text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    whole = read(tag, text)
    assert read(tag, text[:at], text[at:]) == whole
    if not whole[0]:
        assert whole[1] == text, "what is no call is never lost"


def test_a_call_is_told_as_soon_as_it_is_whole() -> None:
    scanner = GenericScanner(GenericStyle("<call>"), TOOLS)
    assert scanner.feed("<call>" + call("roll", sides=6)) == [ToolCall("roll", {"sides": 6})]
    assert scanner.feed(" more ") == []
    assert scanner.finish() == ["more "]


def test_long_replies_take_time_in_proportion() -> None:
    scanner = GenericScanner(GenericStyle("<call>"), TOOLS)
    scanner.feed("<call> roll_ ")
    for _ in range(20_000):
        scanner.feed('{"a": "}"} ')
    assert isinstance(scanner.finish()[0], str)
