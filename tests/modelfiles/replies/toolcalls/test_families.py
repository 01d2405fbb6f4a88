"""Every style as its family writes it, in every cut: the whole way from a reply to content and calls."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.families import tags_of
from modelfiles.replies.pieces import Content, Thinking
from modelfiles.replies.stream import ReplyReader
from modelfiles.replies.toolcalls import ALIASES, STYLES
from tests.streams import cuts

DATA = Path(__file__).parents[3] / "data"
ROLL = {
    "type": "object",
    "properties": {
        "sides": {"type": "integer"},
        "label": {"type": "string"},
        "opts": {"type": "object"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
TOOLS = tuple(
    tool_from_json({"function": {"name": name, "parameters": schema}})
    for name, schema in (("roll", ROLL), ("stop", {}), ("stop_all", {}), ("web.search-x", ROLL))
)
Calls = list[tuple[str, dict[str, Any]]]


def cases() -> Iterator[tuple[str, str, str, Calls]]:
    """Style, reply, content and calls."""
    for line in (DATA / "tool_call_families.jsonl").read_text().splitlines():
        case = json.loads(line)
        yield case["style"], case["raw"], case["content"], [(name, found) for name, found in case["calls"]]


CASES = list(cases())


def read(style: str, pieces: list[str], *, inside: bool = False) -> tuple[str, str, Calls]:
    reader = ReplyReader(tags_of(style), STYLES[style], TOOLS, inside=inside)
    found = [piece for text in pieces for piece in reader.feed(text)] + reader.finish()
    content = "".join(piece.text for piece in found if isinstance(piece, Content))
    thinking = "".join(piece.text for piece in found if isinstance(piece, Thinking))
    return content, thinking, [(call.name, call.arguments) for call in found if isinstance(call, ToolCall)]


@pytest.mark.parametrize(("style", "text", "content", "calls"), CASES)
def test_families(style: str, text: str, content: str, calls: Calls) -> None:
    for pieces in cuts(text):
        told, _, found = read(style, pieces)
        assert (told, found) == (content, calls), pieces


def test_every_style_is_tested() -> None:
    others = {"hermes", "qwen3_coder", "ernie45", "hunyuan_a13b", "llama4_json", "spark25"}
    assert STYLES.keys() - {style for style, *_ in CASES} <= others
    assert set(ALIASES.values()) <= STYLES.keys()
