"""Reads a block with a grammar: a function over a cursor that is run again as the block grows.

It is run where a closing mark has come, and now and then before, so that text which only looks like a call is
not held for long. The work that this may take is limited to a multiple of the text's length.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from modelfiles.messages import ToolCall
from modelfiles.replies.blocks import BlockReader, Style, Verdict
from modelfiles.replies.cursor import Cursor, Cut, More, Unended
from modelfiles.replies.declared import DeclaredTools

# Characters read over again for each one of the text, beside a first allowance.
_MOST_READINGS = 8
_ALLOWANCE = 1 << 16
_FIRST_LOOK = 24


@dataclass(slots=True)
class Found:
    """What a grammar has found in its block. `calls` count; the texts of `failed` stay content."""

    cursor: Cursor
    tools: DeclaredTools
    calls: list[ToolCall] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    reason: str = ""
    begun: int = 0  # where the call begins that is being read

    def begin(self) -> None:
        """Here begins a call."""
        self.begun = self.cursor.at

    def call(self, written: str, arguments: dict[str, object], call_id: str | None = None) -> None:
        """A whole call, of a tool that may be unknown."""
        name = self.tools.find(written)
        if name is None:
            self.fail(f"no tool of the name {written.strip()!r}")
        else:
            self.calls.append(ToolCall(name, arguments, call_id))

    def fail(self, reason: str) -> None:
        """What began is no call."""
        self.reason = self.reason or reason
        self.failed.append(self.cursor.text[self.begun : self.cursor.at].strip())

    def verdict(self) -> Verdict:
        """The block ends at the cursor."""
        text, at = self.cursor.text, self.cursor.at
        if self.calls:
            return Verdict(tuple(self.calls), "\n".join(self.failed), text[at:], self.reason)
        return Verdict((), text[:at], text[at:], self.reason or "no call in the block")


Grammar = Callable[[Found], None]


def read_section(found: Found, marks: tuple[str, str], opening: str, read_call: Grammar) -> None:
    """Calls one after the other, each behind `opening`, between two `marks` or without them."""
    cursor = found.cursor
    sectioned = cursor.take(marks[0]) is not None
    while True:
        before = cursor.at
        cursor.space()
        found.begin()
        if sectioned and (found.calls or found.failed) and cursor.take_end(marks[1]):
            return
        if cursor.take(opening) is None:
            cursor.at = before
            if not found.calls and not found.failed:
                raise Cut("no call in the section")
            return
        read_call(found)


class BufferedReader:
    """One block. `closers`: marks at which it may end."""

    def __init__(self, grammar: Grammar, closers: tuple[str, ...], tools: DeclaredTools) -> None:
        self._grammar = grammar
        self._closers = closers
        self._tools = tools
        self._parts: list[str] = []
        self._length = 0
        self._spent = 0
        self._look_at = _FIRST_LOOK
        self._overlap = max(map(len, closers), default=0)
        ends = "".join({closer[-1] for closer in closers})
        self._may_end = re.compile(f"[{re.escape(ends)}]" if ends else r"(?!)").search

    def feed(self, text: str) -> Verdict | None:
        """As every BlockReader."""
        self._parts.append(text)
        self._length += len(text)
        if self._length < self._look_at and not (self._may_end(text) and self._closed(text)):
            return None
        self._look_at = max(self._length + _FIRST_LOOK, self._length * 3 // 2)
        return self._read(final=False)

    def finish(self) -> Verdict:
        """As every BlockReader."""
        verdict = self._read(final=True)
        return verdict or Verdict((), "".join(self._parts), "", "the block does not end")

    def _closed(self, text: str) -> bool:
        """Whether a closing mark has just come, and looking at it is worth the work."""
        recent = "".join(self._parts[-self._overlap :])[-self._overlap - len(text) :]
        return any(closer in recent for closer in self._closers) and self._may_spend()

    def _may_spend(self) -> bool:
        return self._spent <= _MOST_READINGS * self._length + _ALLOWANCE

    def _read(self, *, final: bool) -> Verdict | None:
        text = "".join(self._parts)
        self._parts = [text]
        self._spent += len(text)
        found = Found(Cursor(text, final=final), self._tools)
        try:
            self._grammar(found)
        except More:
            return None
        except Cut as cut:
            found.reason = found.reason or str(cut)
            found.cursor.at = max(found.cursor.at, 1)
        except Unended as unended:
            return self._given_up(found, found.reason or str(unended), text)
        return found.verdict()

    def _given_up(self, found: Found, reason: str, text: str) -> Verdict:
        """What follows the first closing mark may hold other blocks."""
        if found.calls:
            kept = [*found.failed, text[found.begun :]]
            return Verdict(tuple(found.calls), "\n".join(kept), "", reason)
        ends = [at + len(closer) for closer in self._closers if (at := text.find(closer)) >= 0]
        end = min(ends, default=len(text))
        return Verdict((), text[:end], text[end:], reason)


def style(
    name: str,
    markers: tuple[str, ...],
    grammar: Grammar,
    closers: tuple[str, ...],
    *,
    line_markers: tuple[str, ...] = (),
    starts: tuple[str, ...] = (),
) -> Style:
    """A style whose blocks this reads."""

    def open_block(tools: DeclaredTools) -> BlockReader:
        return BufferedReader(grammar, closers, tools)

    return Style(name, markers, line_markers, open_block, starts)
