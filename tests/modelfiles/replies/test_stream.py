"""Whole replies: thinking, content and calls together."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelfiles.messages import Tool, ToolCall, tool_from_json
from modelfiles.replies.families import tags_of
from modelfiles.replies.pieces import Content, Piece, Thinking
from modelfiles.replies.stream import ReplyReader
from modelfiles.replies.toolcalls import STYLES
from modelfiles.templates.tags import THINK
from tests.streams import cuts

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "tool_calls.jsonl").read_text().splitlines()
]
TOOLS = (tool_from_json({"function": {"name": "f"}}),)
CALL = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'


def read(
    pieces: list[str], style: str = "hermes", tools: tuple[Tool, ...] = TOOLS, *, inside: bool = False
) -> dict[str, Any]:
    reader = ReplyReader(tags_of(style), STYLES[style], tools, inside=inside)
    found: list[Piece] = [piece for text in pieces for piece in reader.feed(text)]
    found += reader.finish()
    return {
        "content": "".join(piece.text for piece in found if isinstance(piece, Content)),
        "reasoning": "".join(piece.text for piece in found if isinstance(piece, Thinking)),
        "tool_calls": [
            {"name": piece.name, "arguments": piece.arguments}
            for piece in found
            if isinstance(piece, ToolCall)
        ],
    }


def test_there_are_cases() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_cases(case: dict[str, Any]) -> None:
    tools = tuple(map(tool_from_json, case["tools"]))
    raw = case["raw"]
    tags = tags_of(case["parser"])
    close, opening = (raw.find(tags.close), raw.find(tags.open)) if tags else (-1, -1)
    inside = close >= 0 and not 0 <= opening < close
    for pieces in cuts(raw):
        # As text, because 3 and 3.0 or True and 1 are not the same to a client.
        assert json.dumps(read(pieces, case["parser"], tools, inside=inside)) == json.dumps(case["expect"]), (
            pieces
        )


CALLED = [{"name": "f", "arguments": {"x": 1}}]


@pytest.mark.parametrize(
    ("text", "content", "reasoning", "calls"),
    [
        (f"hm</think>\n\nSure.\n{CALL}", "Sure.", "hm", CALLED),
        (f"hm\n{CALL}", "", "hm", CALLED),
        (f"hm\n{CALL}\nSo be it.\n{CALL}", "So be it.", "hm", CALLED * 2),
        (f"hm\n{CALL}\nor not</think>No.", "No.", f"hm\n{CALL}\nor not", []),
        (f"hm\n{CALL}</think>{CALL}", "", f"hm\n{CALL}", CALLED),
        ("use <tool_call> here, then stop", "", "use <tool_call> here, then stop", []),
        ('<tool_call>{"name": "fly"}</tool_call> hm', "", '<tool_call>{"name": "fly"}</tool_call> hm', []),
        (f"a </thi {CALL}", "", "a </thi", CALLED),
        (CALL, "", "", CALLED),
        ("", "", "", []),
    ],
)
def test_calls_and_open_thinking(text: str, content: str, reasoning: str, calls: list[object]) -> None:
    for pieces in cuts(text):
        assert read(pieces, inside=True) == {
            "content": content,
            "reasoning": reasoning,
            "tool_calls": calls,
        }, pieces


def test_thinking_streams_until_there_is_a_call_in_it() -> None:
    reader = ReplyReader(THINK, STYLES["hermes"], TOOLS, inside=True)
    assert reader.feed("Let me") == [Thinking("Let me")]
    assert reader.feed(" use <tool_call>") == [Thinking(" use")]
    assert reader.feed(" so") == [Thinking(" <tool_call> so")]
    assert reader.feed(CALL) == []
    assert reader.feed(" and more") == []
    assert reader.feed("</think>") == [Thinking(f"{CALL} and more")]
    assert reader.feed("Yes") == [Content("Yes")]


def test_without_tools_or_tags_everything_is_content() -> None:
    text = f"<think>hm</think>{CALL} "
    for reader in (ReplyReader(), ReplyReader(None, STYLES["hermes"], ())):
        assert reader.feed(text) == [Content(text)]
        assert reader.feed("") == []
        assert reader.finish() == []


def test_without_tools_calls_stay_in_content_and_thinking() -> None:
    reader = ReplyReader(THINK, STYLES["hermes"], (), inside=True)
    assert reader.feed(f"{CALL}</think>{CALL}") == [Thinking(CALL), Content(CALL)]


def test_failures() -> None:
    reader = ReplyReader(None, STYLES["hermes"], TOOLS)
    assert not reader.failures
    reader.feed('<tool_call>{"name": "fly"}</tool_call>')
    assert list(reader.failures) == ["hermes: no tool of the name 'fly'"]
