"""Finds tool calls of which only is known what stands before them, as a Go template tells it.

After that tag: the first declared name, and the first whole JSON object that holds it or follows it; what the
object says under `arguments` or `parameters`, at any depth, are the arguments, else it is all of them. The
tag `{` or `[` means bare JSON, and counts only where a reply begins with it. As in Ollama, but that nothing
is dropped: what is no call, or more than closing marks behind the calls, comes out as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall, arguments_of
from modelfiles.replies.lenient import read_json
from modelfiles.replies.markers import sendable
from modelfiles.replies.value_end import Scan, ValueScanner

_BARE = ("{", "[")
_MOST_NESTED = 16
_NO_CLOSER = "\0"
# What models write behind calls: ends of lists, of code fences, of tags.
_CLOSING = re.compile(r"(?:[\s\])},;]|`{3}\w*|</[^<>\s]{1,40}>|\[/[A-Z_]{1,40}\]|<[|｜][^<>]{1,40}[|｜]>)*")


@dataclass(frozen=True, slots=True)
class GenericStyle:
    """`tag` is what a template writes before tool calls."""

    tag: str
    name: str = "generic"


class GenericScanner:
    """One reply's scanner, as `modelfiles.replies.calls.CallScanner`."""

    def __init__(self, style: GenericStyle, tools: tuple[Tool, ...]) -> None:
        self.failures: list[str] = []
        self._tag = style.tag
        self._tools = DeclaredTools(tools)
        self._names = tuple(tool.name for tool in tools if tool.name)
        self._held = ""  # not yet told
        self._block: _Block | None = None  # what stands behind the tag
        self._only_text = False
        self._called = False

    def feed(self, text: str) -> list[str | ToolCall]:
        """Texts and calls that are certain after `text` has been written too."""
        if self._only_text:
            return [text] if text else []
        if self._block is not None:
            return self._calls(self._block, text)
        self._held += text
        told, block = self._before()
        if block is None:
            return told
        self._block, behind, self._held = block, self._held, ""
        return told + self._calls(block, behind)

    def finish(self) -> list[str | ToolCall]:
        """What was held back, now that nothing follows."""
        if self._block is None or self._only_text:
            rest, self._held = self._held, ""
            return [rest] if rest else []
        block = self._block
        found = self._calls(block, "", final=True)
        rest = "" if self._is_past_json(block, len(block.text) + 1) else block.text
        if self._called:
            rest = _without_closing(rest, self._tag)
        elif rest:
            self.failures.append(f"no declared tool with arguments follows {self._tag!r}")
        self._only_text = True
        return [*found, rest] if rest else found

    def _before(self) -> tuple[list[str | ToolCall], _Block | None]:
        """Text in front of the tag, and a block where the tag has come."""
        if self._tag in _BARE:
            start = self._held.lstrip()
            found = start.startswith(self._tag)
            self._only_text = bool(start) and not found
            end = len(self._held) if self._only_text else 0
        else:
            at = self._held.find(self._tag)
            found = at >= 0
            end = len(self._held[:at].rstrip()) if found else sendable(self._held, (self._tag,))
        text, self._held = self._held[:end], self._held[end:]
        return [text] if text else [], _Block(self._names) if found else None

    def _calls(self, block: _Block, text: str, *, final: bool = False) -> list[str | ToolCall]:
        found: list[str | ToolCall] = []
        block.add(text, final=final)
        while (candidate := block.next()) is not None and not self._is_past_json(block, candidate.end):
            calls = self._of_object(candidate)
            if calls:
                found += calls
                self._called = True
                block.drop(candidate.end, final=final)
        if self._is_past_json(block, len(block.text) + 1):
            self._only_text = True
            return [block.text]
        return found

    def _is_past_json(self, block: _Block, end: int) -> bool:
        """Whether a reply that is bare JSON was whole before `end`, and has no calls in it."""
        whole = block.whole_end
        return self._tag in _BARE and not self._called and whole is not None and end > whole

    def _of_object(self, candidate: _Candidate) -> list[ToolCall]:
        try:
            value, supplied = read_json(candidate.text)
        except ValueError:
            return []
        calls = [] if supplied else list(_calls_within(value, self._tools, _MOST_NESTED))
        if calls or supplied or not candidate.follows:
            return calls
        try:
            return [ToolCall(candidate.name, arguments_of(value) if _has_arguments(value) else value)]
        except NoCall:
            return []


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A whole object that holds a declared name or `follows` it; `end` is where it ends in the block."""

    text: str
    name: str
    follows: bool
    end: int


class _Block:
    """The text from the tag on, in which names and whole objects are found without reading it twice."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._longest = max(map(len, names), default=0)
        self._start_over("")

    def _start_over(self, text: str) -> None:
        self.text = text
        self.whole_end: int | None = None  # of the JSON that it begins with
        self._outer = ValueScanner(_NO_CLOSER)
        self._outer_scanned = 0
        self._name: tuple[str, int] | None = None
        self._searched = 0  # no name begins before
        self._object = -1  # where the open one begins
        self._scanner = ValueScanner(_NO_CLOSER)
        self._scanned = 0
        self._ended: list[tuple[int, int]] = []

    def add(self, text: str, *, final: bool) -> None:
        self.text += text
        self._find_name(final=final)
        self._find_objects()
        self._find_whole()

    def next(self) -> _Candidate | None:
        """The next whole object behind which the name's beginning is not."""
        while self._name and self._ended:
            start, end = self._ended.pop(0)
            name, at = self._name
            if end > at:
                return _Candidate(self.text[start:end], name, start > at, end)
        return None

    def drop(self, end: int, *, final: bool) -> None:
        """Forget all up to there, where calls were."""
        self._start_over(self.text[end:])
        self.add("", final=final)

    def _find_name(self, *, final: bool) -> None:
        """The earliest name, and the longest of those, once it is certain that none is longer."""
        if self._name is not None:
            return
        found = [(at, -len(name), name) for name in self._names if (at := self._find(name)) >= 0]
        if not found:
            self._searched = max(0, len(self.text) - self._longest)
            return
        at, _, name = min(found)
        if final or not self._may_be_another(at):
            self._name = name, at

    def _find(self, name: str) -> int:
        return self.text.find(name, self._searched)

    def _may_be_another(self, at: int) -> bool:
        """Whether the text ends in the beginning of a name that would come first."""
        tails = [self.text[start:] for start in range(max(0, at - self._longest), at + 1)]
        return any(
            len(tail) < len(name) and name.startswith(tail) for tail in tails for name in self._names
        )

    def _find_whole(self) -> None:
        if self.whole_end is not None:
            return
        if self._outer_scanned == 0:
            self._outer_scanned = len(self.text) - len(self.text.lstrip())
        end, stop = self._outer.scan(self.text[self._outer_scanned :])
        self._outer_scanned += end
        self.whole_end = self._outer_scanned if stop is Scan.END else None

    def _find_objects(self) -> None:
        while True:
            if self._object < 0:
                self._object = self.text.find("{", self._scanned)
                self._scanned = len(self.text) if self._object < 0 else self._object
            if self._object < 0:
                return
            end, stop = self._scanner.scan(self.text[self._scanned :])
            self._scanned += end
            if stop is not Scan.END:
                return
            self._ended.append((self._object, self._scanned))
            self._object, self._scanner = -1, ValueScanner(_NO_CLOSER)


def _calls_within(value: Any, tools: DeclaredTools, nested: int) -> Iterator[ToolCall]:
    """Calls in `value`: objects with a declared name and arguments, or arguments under a declared name."""
    if nested == 0 or not isinstance(value, dict | list):
        return
    if isinstance(value, dict):
        name = value.get("name")
        declared = tools.find(name) if isinstance(name, str) else None
        if declared is not None and _has_arguments(value):
            with suppress(NoCall):
                yield ToolCall(declared, arguments_of(value))
            return
        for key, inner in value.items():
            if isinstance(inner, dict) and tools.find(key):
                yield ToolCall(tools.find(key) or key, inner)
                return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _calls_within(inner, tools, nested - 1)


def _has_arguments(value: dict[str, Any]) -> bool:
    return "arguments" in value or "parameters" in value


def _without_closing(text: str, tag: str) -> str:
    while True:
        kept = text[match.end() :] if (match := _CLOSING.match(text)) else text
        if not kept.startswith(tag) or tag in _BARE:
            return kept
        text = kept.removeprefix(tag)
