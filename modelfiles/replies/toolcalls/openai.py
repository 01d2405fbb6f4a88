"""Harmony, the messages with channels that gpt-oss writes. A recipient alone makes a message a call.

Thinking is on the channel `analysis`; what else has no recipient is for the user. What goes to a tool that
the model was trained with and nobody declared is told as thinking, for it is not meant for the user.
"""

import re

from modelfiles.messages import ToolCall
from modelfiles.replies.blocks import Style, no_blocks
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall
from modelfiles.replies.toolcalls.named_json import arguments_in
from modelfiles.replies.turns import Header, Turns
from modelfiles.replies.value_end import Scan, ValueScanner

_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_PREFIX = "functions."
_BUILT_IN = re.compile(r"(?:browser\.\w+|python|container\.\w+)")
_NO_CLOSER = "\0"


def _declared(written: str, tools: DeclaredTools) -> str | None:
    """In the prompt, names are identifiers of TypeScript; the model writes them so."""
    return tools.find(written) or tools.find(written.removeprefix(_PREFIX)) or tools.find_identifier(
        written.removeprefix(_PREFIX)
    )


def _header(text: str, tools: DeclaredTools) -> Header:
    recipient = _RECIPIENT.search(text)
    channels = _CHANNEL.findall(text)
    if recipient and recipient[1] not in ("user", "assistant"):
        undeclared = _declared(recipient[1], tools) is None
        if undeclared and _BUILT_IN.fullmatch(recipient[1]):
            return Header("self")
        return Header("tool", recipient[1])
    return Header("self" if channels and channels[-1] == "analysis" else "user")


def _calls(name: str, body: str, tools: DeclaredTools) -> list[ToolCall]:
    declared = _declared(name, tools)
    if declared is None:
        raise NoCall(f"no tool of the name {name!r}")
    return [ToolCall(declared, arguments_in(body) if body.strip() else {})]


class _JsonBody:
    """A mark inside a string of the arguments belongs to the string."""

    def __init__(self) -> None:
        self._scanner = ValueScanner(_NO_CLOSER)
        self._begun = False
        self._over = False
        self._unread = ""

    def add(self, text: str) -> None:
        """As every Body."""
        text = self._unread + text
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
            self._over = self._begun and text[0] not in "{["
        if not text or self._over:
            return
        end, stop = self._scanner.scan(text)
        self._unread = text[end:]
        self._over = stop is Scan.END

    def ends(self) -> bool:
        """As every Body."""
        return self._over or not self._scanner.in_string


_TURNS = Turns(
    "openai",
    start="<|start|>",
    message="<|message|>",
    ends=("<|end|>", "<|call|>", "<|return|>"),
    begins=("<|channel|>", "to=", "<|constrain|>"),
    header=_header,
    calls=_calls,
    body=_JsonBody,
)
STYLE = Style("openai", (), (), no_blocks, turns=_TURNS)
