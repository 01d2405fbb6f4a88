"""What a style of tool calls is: the markers at which a block may begin, and a reader for one block.

`modelfiles.replies.calls` finds the markers and hands the text over; each file in `toolcalls` reads a style.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from modelfiles.messages import ToolCall
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.turns import Turns


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a block ended. `kept` is what of it remains content, `rest` what comes after it and is unread."""

    calls: tuple[ToolCall, ...]
    kept: str
    rest: str
    reason: str = ""


class BlockReader(Protocol):
    """Reads one block, from its marker on."""

    def feed(self, text: str) -> Verdict | None:
        """Take more text; None while the block goes on."""
        ...

    def finish(self) -> Verdict:
        """No more text comes."""
        ...


@dataclass(frozen=True, slots=True)
class Style:
    """One way to write calls. A line marker counts only where nothing but blanks precedes it on its line, and
    one of `starts` only where nothing but white space precedes it in the reply. `turns`: replies are messages
    with headers instead, and there are no blocks.
    """

    name: str
    markers: tuple[str, ...]
    line_markers: tuple[str, ...]
    open: Callable[[DeclaredTools], BlockReader]
    starts: tuple[str, ...] = ()
    turns: Turns | None = None


class TextReader:
    """Reads no calls at all."""

    def feed(self, text: str) -> Verdict | None:
        """All of it is text."""
        return Verdict((), text, "")

    def finish(self) -> Verdict:
        """There is nothing more."""
        return Verdict((), "", "")


def no_blocks(tools: DeclaredTools) -> BlockReader:
    """For a style that has none."""
    return TextReader()
