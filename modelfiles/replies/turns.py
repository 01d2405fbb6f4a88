"""Reads replies that are messages with headers, each to somebody: to oneself, to the user, or to a tool.

What the headers mean is for a dialect to say. Headers are never shown, but with a call that is none: that
stays in the content as it was written. Texts to the user are passed on unchanged, several joined by newlines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, Protocol

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall
from modelfiles.replies.markers import sendable, unfinished
from modelfiles.replies.pieces import Content, Piece, Thinking

To = Literal["self", "user", "tool"]


@dataclass(frozen=True, slots=True)
class Header:
    """To whom a message goes; `name` is the tool's as it is written."""

    to: To
    name: str = ""


class Body(Protocol):
    """Follows what is written to a tool, to tell an end mark from the same letters in a text."""

    def add(self, text: str) -> None:
        """So it goes on."""
        ...

    def ends(self) -> bool:
        """Whether a mark here would be the end."""
        ...


@dataclass(frozen=True, slots=True)
class Turns:
    """A dialect. `begins`: with what a header may begin where the prompt has written `start` already.

    `calls` makes calls of a name and a body, and raises NoCall; `body` is made for each one to a tool.
    """

    name: str
    start: str
    message: str
    ends: tuple[str, ...]
    begins: tuple[str, ...]
    header: Callable[[str, DeclaredTools], Header]
    calls: Callable[[str, str, DeclaredTools], list[ToolCall]]
    body: Callable[[], Body]


class _State(Enum):
    BETWEEN = auto()
    HEADER = auto()
    BODY = auto()


class TurnReader:
    """One reply's reader. `inside`: the prompt ended in a message to oneself."""

    def __init__(self, turns: Turns, tools: tuple[Tool, ...], *, inside: bool) -> None:
        self.failures: list[str] = []
        self._turns = turns
        self._tools = DeclaredTools(tools)
        self._state = _State.BODY if inside else _State.BETWEEN
        self._to = Header("self")
        self._header = ""
        self._held = ""
        self._body: list[str] = []  # of a call
        self._follows = turns.body()
        self._sent: set[type] = set()  # kinds of text that were sent in earlier messages
        self._fresh = True  # whether nothing of this message was sent
        self._final = False
        self._shown = False
        marks = (*turns.ends, turns.start)
        self._hint = re.compile("|".join(re.escape(mark[0]) for mark in marks)).search

    def feed(self, text: str) -> list[Piece]:
        """What is certain after `text` has been written too."""
        text = self._held + text
        if self._shown and not self._hint(text):
            self._held = ""
            return [Content(text)] if text else []
        pieces: list[Piece] = []
        rest: str | None = text
        self._held = ""
        while rest:
            if self._state is _State.BETWEEN:
                rest = self._between(rest)
            elif self._state is _State.HEADER:
                rest = self._in_header(rest)
            elif self._to.to == "tool":
                rest = self._in_call(rest, pieces)
            else:
                rest = self._in_text(rest, pieces)
        # Within a text to the user, only the first letters of marks can end it.
        self._shown = self._state is _State.BODY and self._to.to == "user" and not self._fresh
        return pieces

    def finish(self) -> list[Piece]:
        """What was held back, now that nothing follows."""
        self._final = True
        pieces = self.feed("")
        if self._state is _State.BODY and self._to.to == "tool":
            self._called("", pieces)
        return pieces

    def _between(self, text: str) -> str | None:
        turns, begin = self._turns, text.lstrip()
        starts = (turns.start, turns.message, *turns.begins)
        if any(begin.startswith(start) for start in starts):
            self._state = _State.HEADER
            return begin
        ends = [end for end in turns.ends if begin.startswith(end)]
        if ends:
            return begin[len(ends[0]) :]
        if not self._final and any(mark.startswith(begin) for mark in (*starts, *turns.ends)):
            self._held = text
            return None
        self._open(Header("user"), "")
        return text

    def _in_header(self, text: str) -> str | None:
        end = text.find(self._turns.message)
        if end < 0:
            self._held = text
            if self._final:
                self._held = ""
            return None
        header = text[:end].removeprefix(self._turns.start)
        self._open(self._turns.header(header, self._tools), header.removeprefix("assistant"))
        return text[end + len(self._turns.message) :]

    def _open(self, to: Header, header: str) -> None:
        self._to, self._header = to, header
        self._state = _State.BODY
        self._fresh = True

    def _close(self) -> None:
        self._state = _State.BETWEEN
        if not self._fresh:
            self._sent.add(self._kind())

    def _kind(self) -> type[Content] | type[Thinking]:
        return Thinking if self._to.to == "self" else Content

    def _in_text(self, text: str, pieces: list[Piece]) -> str | None:
        marks = (*self._turns.ends, self._turns.start)
        end, mark = _first(text, marks)
        thinks = self._to.to == "self"
        if end >= 0 or self._final:
            written = text[:end] if end >= 0 else text
            self._send(written.rstrip() if thinks else written, pieces)
            self._close()
            return text[end + (len(mark) if mark != self._turns.start else 0) :] if end >= 0 else None
        sent = sendable(text, marks) if thinks else len(text) - unfinished(text, marks)
        self._send(text[:sent], pieces)
        self._held = text[sent:]
        return None

    def _send(self, text: str, pieces: list[Piece]) -> None:
        kind = self._kind()
        if self._fresh and kind is Thinking:
            text = text.lstrip()
        if not text:
            return
        if self._fresh and kind in self._sent:
            text = "\n" + text
        self._fresh = False
        pieces.append(kind(text))

    def _in_call(self, text: str, pieces: list[Piece]) -> str | None:
        marks = (*self._turns.ends, self._turns.start)
        end, mark = _first(text, marks)
        if end < 0:
            held = 0 if self._final else unfinished(text, marks)
            self._add(text[: len(text) - held])
            self._held = text[len(text) - held :]
            return None
        self._add(text[:end])
        behind = end + len(mark)
        if not self._follows.ends():
            self._add(mark)
            return text[behind:]
        if mark == self._turns.start:
            mark, behind = "", end
        self._called(mark, pieces)
        return text[behind:]

    def _add(self, text: str) -> None:
        self._body.append(text)
        self._follows.add(text)

    def _called(self, mark: str, pieces: list[Piece]) -> None:
        body = "".join(self._body)
        self._body.clear()
        self._follows = self._turns.body()
        try:
            pieces += self._turns.calls(self._to.name, body, self._tools)
        except NoCall as error:
            self.failures.append(f"{self._turns.name}: {error}")
            self._to = Header("user")
            self._send(f"{self._header.lstrip()}{self._turns.message}{body}{mark}", pieces)
        self._close()


def _first(text: str, marks: tuple[str, ...]) -> tuple[int, str]:
    """Where the first mark is and which; -1 for none."""
    found = [(at, mark) for mark in marks if (at := text.find(mark)) >= 0]
    return min(found, default=(-1, ""))
