"""Messages to oneself, to the user or to a tool, with the calls as XML: Muse Glimmer."""

import re

from modelfiles.messages import ToolCall
from modelfiles.replies.blocks import Style, no_blocks
from modelfiles.replies.buffered import Found
from modelfiles.replies.cursor import Cursor, Cut, Unended
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall
from modelfiles.replies.toolcalls.attributes import Tags, grammar
from modelfiles.replies.turns import Header, Turns

_RECIPIENT = re.compile(r"\bto=(\S+)")
_TAGS = Tags(
    ("<atem:function_calls>",),
    ("</atem:function_calls>",),
    "<atem:invoke",
    "</atem:invoke>",
    "<atem:parameter",
    "</atem:parameter>",
)
_read = grammar(_TAGS)


def _header(text: str, tools: DeclaredTools) -> Header:
    recipient = _RECIPIENT.search(text)
    if recipient is None or recipient[1] == "user":
        return Header("user")
    return Header("self") if recipient[1] == "self" else Header("tool", recipient[1])


def _calls(name: str, body: str, tools: DeclaredTools) -> list[ToolCall]:
    found = Found(Cursor(body.strip(), final=True), tools)
    try:
        _read(found)
    except (Cut, Unended) as error:
        raise NoCall(str(error)) from error
    if not found.calls or found.failed or not found.cursor.ended:
        raise NoCall(found.reason or f"no call in the message to {name!r}")
    return found.calls


class _XmlBody:
    """A mark inside a value that is open belongs to the value."""

    def __init__(self) -> None:
        self._open = 0
        self._tails = {_TAGS.parameter: "", _TAGS.parameter_end: ""}

    def add(self, text: str) -> None:
        """As every Body."""
        for tag, step in ((_TAGS.parameter, 1), (_TAGS.parameter_end, -1)):
            recent = self._tails[tag] + text
            self._open += step * recent.count(tag)
            self._tails[tag] = recent[1 - len(tag) :]

    def ends(self) -> bool:
        """As every Body."""
        return self._open <= 0


STYLE = Style(
    "glimmer",
    (),
    (),
    no_blocks,
    turns=Turns(
        "glimmer",
        start="<|start|>",
        message="<|message|>",
        ends=("<|eom|>", "<|eot|>"),
        begins=("to=",),
        header=_header,
        calls=_calls,
        body=_XmlBody,
    ),
)
