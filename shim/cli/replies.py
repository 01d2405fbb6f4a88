"""Writes a reply to the terminal as it comes, thinking dimmed and before the answer; and what it took."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable

import click

from shim.cli.answers import JSON, integer, mapping, objects, text
from shim.cli.colours import wants_colour
from shim.cli.formats import exact_duration_text
from shim.cli.wrap import WordWrap

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_LABEL_COLUMNS = 22


class ReplyWriter:
    """One reply. `write` takes text with control sequences; `wrap` is None where lines are not broken."""

    def __init__(
        self, write: Callable[[str], None], *, hide_thinking: bool, wrap: WordWrap | None, dim: bool = True
    ) -> None:
        self._write = write
        self._dim, self._reset = (_DIM, _RESET) if dim else ("", "")
        self._hide_thinking = hide_thinking
        self._wrap = wrap
        self._thinking: list[str] = []
        self._content: list[str] = []
        self._is_thinking = False

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    @property
    def content(self) -> str:
        return "".join(self._content)

    def add(self, thinking: str, content: str) -> None:
        """Write the next piece of thinking and of content; either may be empty."""
        if thinking:
            self._add_thinking(thinking)
        if content:
            self._end_thinking()
            self._content.append(content)
            self._write(self._wrap.feed(content) if self._wrap else content)

    def close(self) -> None:
        """Leave the terminal as it was, wherever the reply ended."""
        self._end_thinking()

    def _add_thinking(self, piece: str) -> None:
        self._thinking.append(piece)
        if self._hide_thinking:
            return
        if not self._is_thinking:
            self._is_thinking = True
            self._write(f"{self._dim}Thinking...\n")
        self._write(self._wrap.feed(piece) if self._wrap else piece)

    def _end_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            line_end = "" if self._thinking[-1].endswith("\n") else "\n"
            ending = f"{line_end}...done thinking.\n\n"
            self._write((self._wrap.feed(ending) if self._wrap else ending) + self._reset)


def print_text(piece: str) -> None:
    """Write to stdout at once; control sequences are left out where it is no terminal."""
    click.echo(piece, nl=False)


def reply_writer(*, hide_thinking: bool, wrap: WordWrap | None) -> ReplyWriter:
    """A writer to stdout, which dims thinking where that can be seen and is wanted."""
    dim = wants_colour(sys.stdout)
    return ReplyWriter(print_text, hide_thinking=hide_thinking, wrap=wrap, dim=dim)


def write_reply(writer: ReplyWriter, items: Iterable[JSON]) -> JSON:
    """Write a whole stream of /api/generate or /api/chat; return its last item."""
    last: JSON = {}
    try:
        for last in items:
            message = mapping(last, "message") or last
            writer.add(text(message, "thinking"), text(message, "content") or text(message, "response"))
            for call in objects(message, "tool_calls"):
                writer.add("", _call_text(mapping(call, "function")))
    finally:
        writer.close()
    return last


def _call_text(function: JSON) -> str:
    arguments = json.dumps(function.get("arguments"), ensure_ascii=False)
    return f"Model called a non-existent function '{text(function, 'name')}()' with arguments: {arguments}\n"


def timings(last: JSON) -> str:
    """What `--verbose` prints about a reply; lines for numbers that the server left out are missing."""
    rows: list[tuple[str, str]] = [
        *_duration("total duration", last, "total_duration"),
        *_duration("load duration", last, "load_duration"),
        *_counts("prompt eval", last, "prompt_eval"),
        *_counts("eval", last, "eval"),
    ]
    return "".join(f"{label + ':':<{_LABEL_COLUMNS}}{value}\n" for label, value in rows)


def _duration(label: str, last: JSON, key: str) -> list[tuple[str, str]]:
    nanoseconds = integer(last, key)
    return [(label, exact_duration_text(nanoseconds))] if nanoseconds else []


def _counts(label: str, last: JSON, key: str) -> list[tuple[str, str]]:
    count, nanoseconds = integer(last, f"{key}_count"), integer(last, f"{key}_duration")
    rows = [(f"{label} count", f"{count} token(s)")] if count else []
    rows += _duration(f"{label} duration", last, f"{key}_duration")
    if count and nanoseconds:
        rows.append((f"{label} rate", f"{count / nanoseconds * 1e9:.2f} tokens/s"))
    return rows
