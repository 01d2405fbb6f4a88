"""Tools are reduced to the keys that reach a model, in a fixed order."""

import json

from modelfiles.messages import Message, ToolCall, tool_from_json


def test_unknown_keywords_are_dropped_at_every_level() -> None:
    tool = tool_from_json(
        {
            "type": "function",
            "strict": True,
            "function": {
                "strict": True,
                "parameters": {
                    "additionalProperties": False,
                    "properties": {
                        "sides": {"minimum": 1, "description": "how many", "type": ["integer"], "default": 6},
                        "label": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                    },
                    "required": ["sides"],
                    "type": "object",
                },
                "description": "Roll a die",
                "name": "roll",
            },
        }
    )
    assert tool.name == "roll"
    assert json.dumps(tool.raw, separators=(",", ":")) == (
        '{"type":"function","function":{"name":"roll","description":"Roll a die","parameters":'
        '{"type":"object","required":["sides"],"properties":{"sides":{"type":"integer",'
        '"description":"how many"},"label":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}'
    )


def test_parts_of_the_wrong_shape_count_as_absent() -> None:
    tool = tool_from_json({"function": {"name": 5, "parameters": {"properties": ["x"], "type": None}}})
    assert tool.raw == {
        "type": "function",
        "function": {"name": "", "parameters": {"type": "", "properties": None}},
    }
    assert tool_from_json({}).name == ""


def test_nested_properties_keep_their_order() -> None:
    properties = {
        "b": {"type": "string"},
        "a": {"type": "object", "properties": {"z": {}, "y": {"title": "t"}}},
    }
    tool = tool_from_json(
        {"function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}
    )
    function = tool.raw["function"]
    assert json.dumps(function) == json.dumps(
        {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "b": {"type": "string"},
                    "a": {"type": "object", "properties": {"z": {}, "y": {}}},
                },
            },
        }
    )


def test_messages_are_values() -> None:
    call = ToolCall("roll", {"sides": 6}, id="call_1", index=0)
    assert Message("assistant", tool_calls=(call,)) == Message("assistant", "", tool_calls=(call,))
