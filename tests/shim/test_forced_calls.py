"""What an answer must look like that has to be a call; the schema is checked by a validator of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import validator_for

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.pieces import Content
from modelfiles.replies.stream import ReplyReader
from shim.forced_calls import STYLE, forced
from shim.requests import Forced

SIDES = {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]}
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": []}},
}


def accepts(calls: list[Forced], value: object) -> bool:
    constraint = forced(calls)
    assert constraint.kind == "json_schema"
    return validator_for(json.loads(constraint.source)).is_valid(value)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ({"name": "roll", "arguments": {"sides": 6}}, True),
        ({"name": "roll", "arguments": {"sides": "6"}}, False),
        ({"name": "roll", "arguments": {}}, False),
        ({"name": "roll", "arguments": {"sides": 6, "made_up": 1}}, False),
        ({"name": "now", "arguments": {}}, True),
        ({"name": "now", "arguments": {"anything": 1}}, True),
        ({"name": "now", "arguments": []}, False),
        ({"name": "throw", "arguments": {"sides": 6}}, False),
        ({"name": "roll", "arguments": {"sides": 6}, "more": 1}, False),
        ({"name": "roll"}, False),
    ],
)
def test_one_of_several_tools(value: object, right: bool) -> None:
    assert accepts([Forced("roll", SIDES), Forced("now")], value) is right


def test_references_inside_a_schema_still_lead_somewhere() -> None:
    calls = [Forced("roll", SIDES), Forced("grow", TREE)]
    assert accepts(calls, {"name": "grow", "arguments": {"root": {"next": {"next": {}}}}})
    assert not accepts(calls, {"name": "grow", "arguments": {"root": {"next": {"next": 3}}}})


def test_what_a_schema_says_of_other_keys_holds() -> None:
    loose = [Forced("roll", {**SIDES, "additionalProperties": True})]
    assert accepts(loose, {"name": "roll", "arguments": {"sides": 6, "more": 1}})


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_it_is_read_at_any_chunking(size: int) -> None:
    tool = Tool("roll", {"type": "function", "function": {"name": "roll", "parameters": SIDES}})
    reader = ReplyReader(style=STYLE, tools=(tool,))
    text = '{"name": "roll", "arguments": {"sides": 6, "label": "}\\"{"}}'
    found: list[Any] = []
    for at in range(0, len(text), size):
        found += reader.feed(text[at : at + size])
    found += reader.finish()
    assert [(call.name, call.arguments) for call in found if isinstance(call, ToolCall)] == [
        ("roll", {"sides": 6, "label": '}"{'})
    ]
    assert not any(isinstance(piece, Content) and piece.text for piece in found)
