"""Templates of well-known models, as llama.cpp's source has them, on chats with everything in them.

They belong to others, so they are not here: SHIM_LLAMA_CPP_SOURCE names llama.cpp's source or the archive of
llama-cpp-python. Without it, `wren.jinja` and its like stand for them.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from datetime import datetime
from itertools import product
from pathlib import Path

import pytest

from modelfiles.messages import Message, ToolCall, tool_from_json
from modelfiles.templates.jinja import ChatTemplate, Conversation
from modelfiles.templates.switches import Thinking

SOURCE = os.environ.get("SHIM_LLAMA_CPP_SOURCE", "")
FOLDER = "models/templates"


def published() -> Iterator[tuple[str, str]]:
    """Names and texts."""
    place = Path(SOURCE)
    if SOURCE and place.is_dir():
        for path in sorted(place.glob(f"**/{FOLDER}/*.jinja")):
            yield path.stem, path.read_text("utf-8")
    elif SOURCE and place.is_file():
        with tarfile.open(place) as archive:
            for member in archive.getmembers():
                path = Path(member.name)
                if path.suffix == ".jinja" and path.parent.as_posix().endswith(FOLDER):
                    opened = archive.extractfile(member)
                    yield path.stem, opened.read().decode() if opened else ""


TEMPLATES = dict(published())
if not TEMPLATES:
    pytest.skip("SHIM_LLAMA_CPP_SOURCE names no source of llama.cpp", allow_module_level=True)

TOOLS = (
    tool_from_json(
        {
            "type": "function",
            "function": {
                "name": "roll",
                "description": "Rolls a die.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "sides": {"type": "integer", "description": "how many"},
                        "kind": {"type": "string", "enum": ["a", "b"]},
                        "deep": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}},
                        "list": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["sides"],
                },
            },
        }
    ),
    tool_from_json({"type": "function", "function": {"name": "now"}}),
)
SYSTEM, ASKED, AGAIN = Message("system", "the sky"), Message("user", "a heron"), Message("user", "an otter")
TOLD = Message("assistant", "a raven", thinking="a thought")
CALL = ToolCall("roll", {"sides": 6, "deep": {"x": None}})
ONE = Message("assistant", thinking="a thought", tool_calls=(CALL,))
TWO = Message("assistant", "I roll.", tool_calls=(ToolCall("roll", {"sides": 6}), ToolCall("now", {})))
SEVEN, NOON = Message("tool", "a seven", tool_name="roll"), Message("tool", '{"a": "noon"}', tool_name="now")
TEXTS = ("the sky", "a heron", "an otter", "a seven", "noon", "It is")
NOW = datetime(2026, 11, 30)
CHATS = {
    "question": (ASKED,),
    "system": (SYSTEM, ASKED),
    "turns": (SYSTEM, ASKED, TOLD, AGAIN),
    "call": (SYSTEM, ASKED, ONE, SEVEN),
    "calls": (ASKED, TWO, SEVEN, NOON),
    "all": (SYSTEM, ASKED, TWO, SEVEN, NOON, TOLD, AGAIN, ONE, SEVEN),
    "late system": (ASKED, TOLD, SYSTEM, AGAIN),
    "two questions": (ASKED, AGAIN),
    "begun": (ASKED, Message("assistant", "It is")),
    "answer first": (TOLD, ASKED),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_nothing_fails_and_nothing_is_lost(name: str) -> None:
    template = ChatTemplate(TEMPLATES[name])
    settings: tuple[Thinking, ...] = (None, True, False, "high")
    lost = [
        (chat, think, bool(tools), text)
        for chat, think, tools in product(CHATS, settings, ((), TOOLS))
        for text in missing(template, Conversation(CHATS[chat], NOW, tools, think, bos="<s>", eos="</s>"))
    ]
    assert lost == []


def missing(template: ChatTemplate, conversation: Conversation) -> list[str]:
    """Texts of the messages that the prompt lacks."""
    prompt = template.render(conversation)
    given = [text for text in TEXTS if any(text in message.content for message in conversation.messages)]
    return [text for text in given if text not in prompt]
