"""Which JSON is a call."""

import pytest

from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall, calls_in

TOOLS = DeclaredTools([tool_from_json({"function": {"name": name}}) for name in ("roll", "stop")])
ROLL = ToolCall("roll", {"sides": 6})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "roll", "arguments": {"sides": 6}}', [ROLL]),
        ('{"name": "Roll", "parameters": {"sides": 6}}', [ROLL]),
        ('{"name": "roll", "args": {"sides": 6}}', [ROLL]),
        ('{"name": "roll", "input": {"sides": 6}}', [ROLL]),
        ('{"name": "roll", "arguments": {"sides": 6}, "input": {"x": 1}}', [ROLL]),
        ('{"name": "roll", "arguments": "{\\"sides\\": 6}"}', [ROLL]),
        ('{"name": "roll", "arguments": "\\"{\\\\\\"sides\\\\\\": 6}\\""}', [ROLL]),
        ('{"type": "function", "function": {"name": "roll", "arguments": {"sides": 6}}}', [ROLL]),
        ('{"function": "roll", "arguments": {"sides": 6}}', [ROLL]),
        ('{"name": "stop"}', [ToolCall("stop")]),
        ('{"name": "stop", "arguments": null}', [ToolCall("stop")]),
        ('{"name": "stop", "arguments": ""}', [ToolCall("stop")]),
        ('[{"name": "roll", "arguments": {"sides": 6}}, {"name": "stop"}]', [ROLL, ToolCall("stop")]),
        ('{"name": "roll", "arguments": {"sides": 6}', [ROLL]),
    ],
)
def test_calls(text: str, calls: list[ToolCall]) -> None:
    assert calls_in(text, TOOLS) == calls


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "fly", "arguments": {}}', "no tool of the name 'fly'"),
        ('{"arguments": {}}', "no tool of the name None"),
        ('{"name": 7}', "no tool of the name 7"),
        ('{"name": "roll", "arguments": [1]}', "no object"),
        ('{"name": "roll", "arguments": 5}', "no object"),
        ('{"name": "roll", "arguments": "six sides"}', "no JSON"),
        ('{"name": "roll", "arguments": "{\\"a\\": {}"}', "cut"),
        ('{"name": "stop"', "cut before"),
        ('"roll"', "no object"),
        ('[{"name": "roll"}, 3]', "no object"),
        ("roll the dice", "no JSON"),
    ],
)
def test_no_calls(text: str, reason: str) -> None:
    with pytest.raises(NoCall, match=reason):
        calls_in(text, TOOLS)
