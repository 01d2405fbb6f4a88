"""JSON between tags."""

import json

import pytest

from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.calls import CallScanner
from modelfiles.replies.toolcalls import STYLES
from tests.streams import cuts

TOOLS = tuple(tool_from_json({"function": {"name": name}}) for name in ("roll", "stop", "stop_all"))
A, B = '{"name": "roll", "arguments": {"sides": 6}}', '{"name": "stop"}'
Call = tuple[str, dict[str, object]]
Calls = list[Call]
ROLL: Call = ("roll", {"sides": 6})
STOP: Call = ("stop", {})


UNQUOTED = '<tool_call>{"name": "roll", "arguments": {"q": "say "hi"}}</tool_call>'


def read(pieces: list[str]) -> tuple[str, Calls]:
    scanner = CallScanner(STYLES["hermes"], TOOLS)
    found = [item for piece in pieces for item in scanner.feed(piece)] + scanner.finish()
    calls = [(item.name, item.arguments) for item in found if isinstance(item, ToolCall)]
    return "".join(item for item in found if isinstance(item, str)), calls


CASES: list[tuple[str, str, Calls]] = [
    (f"<tool_call>\n{A}\n</tool_call>", "", [ROLL]),
    (f"<tool_call>{A}</tool_call><tool_call>{B}</tool_call>", "", [ROLL, STOP]),
    (f"<tool_call>{A}\n{B}</tool_call>", "", [ROLL, STOP]),
    (f"<tool_call>[{A}, {B}]</tool_call>", "", [ROLL, STOP]),
    (f"<tool_call>\n```json\n{A}\n```\n</tool_call>.", ".", [ROLL]),
    (f"<tool_call>\n```\n{A}```</tool_call>", "", [ROLL]),
    (f"Before.\n\n<tool_call>{A}</tool_call>\n\nAfter.\n", "Before.\nAfter.\n", [ROLL]),
    (f"<tool_call>{A}</tool_call>\nBetween.\n<tool_call>{B}</tool_call>", "Between.", [ROLL, STOP]),
    (f"<tool_call>{A}", "", [ROLL]),
    (f"<tool_call>{A}\n", "", [ROLL]),
    (f"<tool_call>{A}\n</tool_ca", "", [ROLL]),
    (f"<tool_call>{A[:-1]}</tool_call>", "", [ROLL]),
    (f"<tool_call>{A[:-1]}", "", [ROLL]),
    (f"<tool_call>{A} and so on", "and so on", [ROLL]),
    ("Use the <tool_call> tag.", "Use the <tool_call> tag.", []),
    ("<tool_call>", "<tool_call>", []),
    ("<tool_call>\n</tool_call> x", "<tool_call>\n</tool_call> x", []),
    (f"a <tool_call> {A[:-3]}", f"a <tool_call> {A[:-3]}", []),
    ('<tool_call>{"name": "fly"}</tool_call> ok', '<tool_call>{"name": "fly"}</tool_call> ok', []),
    (f'<tool_call>{A}{{"name": "fly"}}</tool_call>', '{"name": "fly"}', [ROLL]),
    (f"{UNQUOTED}\n<tool_call>{A}</tool_call>", UNQUOTED, [ROLL]),
    (f"<tool_call>{A}<tool_call>{B}</tool_call>", "", [ROLL, STOP]),
    ('<tool_call>{"name": "stop_all", "arguments": {}}</tool_call>', "", [("stop_all", {})]),
    ("[TOOL_CALLS]roll[ARGS]{}", "[TOOL_CALLS]roll[ARGS]{}", []),
    ("no calls <at> all \n\n", "no calls <at> all \n\n", []),
    ("", "", []),
]


@pytest.mark.parametrize(("text", "content", "calls"), CASES)
def test_hermes(text: str, content: str, calls: Calls) -> None:
    for pieces in cuts(text):
        assert read(pieces) == (content, calls), pieces


def test_many_calls() -> None:
    assert read([f"<tool_call>{A}</tool_call>\n" * 200]) == ("", [ROLL] * 200)


def test_a_long_value_in_small_pieces_is_read_once() -> None:
    value = "x </tool_call> }" * 30_000
    text = f"<tool_call>{json.dumps({'name': 'roll', 'arguments': {'text': value}})}</tool_call>"
    content, calls = read([text[i : i + 7] for i in range(0, len(text), 7)])
    assert (content, calls) == ("", [("roll", {"text": value})])


def test_failed_blocks_are_not_read_again_for_ever() -> None:
    text = '<tool_call>{"a": "</tool_call>' * 2_000
    assert read([text]) == (text, [])


def test_reasons_are_told() -> None:
    scanner = CallScanner(STYLES["hermes"], TOOLS)
    scanner.feed('<tool_call>{"name": "fly"}</tool_call> and <tool_call> x')
    assert scanner.failures == ["hermes: no tool of the name 'fly'", "hermes: no JSON in the block"]
