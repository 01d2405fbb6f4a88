"""A whole text as one reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelfiles.errors import ParameterError
from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.reading import Failure, Reading, read_reply

CASES = (Path(__file__).parents[2] / "data" / "tool_calls.jsonl").read_text().splitlines()
TOOLS = (tool_from_json({"function": {"name": "f"}}),)
CALL = '<tool_call>{"name": "f"}</tool_call>'


@pytest.mark.parametrize("case", [json.loads(line) for line in CASES], ids=lambda case: str(case["id"]))
def test_cases(case: dict[str, Any]) -> None:
    tools = tuple(map(tool_from_json, case["tools"]))
    for chunk in (0, 1, 5):
        found = read_reply(case["raw"], tools, case["parser"], chunk=chunk)
        calls = [{"name": call.name, "arguments": call.arguments} for call in found.tool_calls]
        told = {"content": found.content, "reasoning": found.reasoning, "tool_calls": calls}
        assert json.dumps(told) == json.dumps(case["expect"])


def test_a_template_tells_the_parsers() -> None:
    template = "<tool_call></tool_call><think></think>"
    assert read_reply(f"hm</think>{CALL}", TOOLS, template=template) == Reading(
        "", "hm", (ToolCall("f"),), ()
    )
    assert read_reply(CALL, TOOLS) == Reading(CALL, "", (), ())


def test_failures_say_their_check() -> None:
    text = '<tool_call>{"name": "g"}</tool_call>'
    found = read_reply(text, TOOLS, "hermes", chunk=3)
    assert found == Reading(text, "", (), (Failure("name", "hermes: no tool of the name 'g'"),))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean hermes"):
        read_reply("", (), "hermess")


def test_an_empty_reply() -> None:
    assert read_reply("", TOOLS, "hermes") == Reading("", "", (), ())
