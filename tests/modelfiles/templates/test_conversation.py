"""The shape of what templates get."""

from modelfiles.messages import Message, ToolCall, tool_from_json
from modelfiles.templates.conversation import Form, described, message_variables, opened, tool_variables

TOOL = tool_from_json(
    {"function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}
)


def test_messages() -> None:
    call = ToolCall("f", {"b": [1], "a": "ü"}, id="c1")
    made = message_variables(
        [
            Message("user", "hi"),
            Message("assistant", thinking="hm", tool_calls=(call,)),
            Message("tool", "r", tool_name="f", tool_call_id="c1"),
        ],
        Form(),
    )
    function = {"name": "f", "arguments": {"b": [1], "a": "ü"}}
    assert made == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "hm",
            "thinking": "hm",
            "tool_calls": [{"type": "function", "id": "c1", "function": function}],
        },
        {"role": "tool", "content": "r", "name": "f", "tool_call_id": "c1"},
    ]


def test_other_forms() -> None:
    call = ToolCall("f", {"a": "ü"}, id="c1")
    form = Form(arguments_as_text=True, content_as_parts=True)
    (made,) = message_variables([Message("assistant", "x", tool_calls=(call,))], form)
    assert made["content"] == [{"type": "text", "text": "x"}]
    assert made["tool_calls"] == [
        {"type": "function", "id": "c1", "function": {"name": "f", "arguments": '{"a": "ü"}'}}
    ]


def test_templates_cannot_change_the_request() -> None:
    arguments = {"list": [1], "deep": {"x": 1}}
    (made,) = message_variables([Message("assistant", tool_calls=(ToolCall("f", dict(arguments)),))], Form())
    given = made["tool_calls"][0]["function"]["arguments"]  # type: ignore[index]  # shape as above
    given["list"].append(2)
    given["deep"]["x"] = 2
    assert arguments == {"list": [1], "deep": {"x": 1}}


def test_tools() -> None:
    assert tool_variables([], Form()) == {"tools": None, "functions": ""}
    assert tool_variables([], Form(tools_as_list=True))["tools"] == []
    assert tool_variables([TOOL], Form())["tools"] == [TOOL.raw]


def test_described_fills_in_what_is_missing() -> None:
    function = described(TOOL).raw["function"]
    assert function == {
        "description": "",
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"description": "", "type": "string"}}},
    }


def test_a_tool_without_parameters_has_empty_properties_then() -> None:
    bare = tool_from_json({"function": {"name": "now"}})
    function = described(bare).raw["function"]
    assert function == {"description": "", "name": "now", "parameters": {"type": "", "properties": {}}}


def test_opened_says_that_objects_hold_anything() -> None:
    inner = {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}
    properties = {"a": {"type": "object"}, "b": inner, "c": {"type": "string"}}
    tool = tool_from_json({"function": {"name": "f", "parameters": {"properties": properties}}})
    function = opened(tool).raw["function"]
    assert function == {
        "description": "",
        "name": "f",
        "parameters": {
            "type": "",
            "properties": {
                "a": {"description": "", "type": "object", "additionalProperties": {"type": None}},
                "b": {
                    "description": "",
                    "type": "array",
                    "items": {
                        "type": "array",
                        "items": {"type": "object", "additionalProperties": {"type": None}},
                    },
                },
                "c": {"description": "", "type": "string"},
            },
        },
    }
    assert properties["a"] == {"type": "object"}
    assert inner == {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}
