"""Finds tool calls in a reply while it is being written; everything else comes out as text.

A block that is removed takes the white space that touches it, and the pieces of text around blocks are
joined by a newline. Without a block the text comes out unchanged. What may be the beginning of a marker is
held back, with the white space before it. Nothing is dropped: a block that is no call comes out as text.
"""

import re

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.blocks import BlockReader, Style, Verdict
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.markers import sendable

# A block that fails at the very end is read again from its first closing tag; so often, and no more.
_MOST_RETRIES = 64


class CallScanner:
    """One reply's scanner. `failures` says why blocks stayed in the text, for the log.

    `starts`: whether this text is where a reply starts; calls by their place alone are found only there.
    """

    def __init__(self, style: Style, tools: tuple[Tool, ...], *, starts: bool = True) -> None:
        self.failures: list[str] = []
        self._style = style
        self._tools = DeclaredTools(tools)
        self._markers = (*style.markers, *style.line_markers)
        self._pattern = _any_of(self._markers)
        self._starts = style.starts if starts else ()
        self._block: BlockReader | None = None
        self._held = ""
        self._line_blank = True
        self._text_sent = False
        self._call_sent = False
        self._retries = 0
        # Text without any of these holds no marker, and no beginning of one.
        self._hint = _any_of(tuple({marker[0] for marker in self._markers})).search

    def feed(self, text: str) -> list[str | ToolCall]:
        """Texts and calls that are certain after `text` has been written too."""
        if self._block is None and not self._starts and not self._call_sent:
            text = self._held + text
            if not self._hint(text):
                return self._plain(text)
            self._held = ""
        found: list[str | ToolCall] = []
        rest: str | None = self._started(text) if self._starts else text
        while rest:
            rest = self._read_text(rest, found) if self._block is None else self._read_block(rest, found)
        return found

    def finish(self) -> list[str | ToolCall]:
        """What was held back, now that nothing follows."""
        found: list[str | ToolCall] = []
        if self._starts:
            held, self._starts, self._held = self._held, (), ""
            found += self.feed(held)
        while self._block is not None:
            rest = self._close(self._block.finish(), found)
            self._retries += 1
            if self._retries < _MOST_RETRIES:
                found += self.feed(rest)
            else:
                self._held += rest
        found += self._send(self._held)
        self._held = ""
        return found

    def _plain(self, text: str) -> list[str | ToolCall]:
        """What `_read_text` does with text that holds no marker, only faster."""
        kept = text.rstrip()
        self._held = text[len(kept) :]
        if not kept:
            return []
        self._line_blank = False
        self._text_sent = True
        return [kept]

    def _started(self, text: str) -> str | None:
        """What is to be read now; None while it is open whether the reply starts with a call."""
        text = self._held + text
        begin = text.lstrip()
        if not any(begin.startswith(start) for start in self._starts):
            if any(start.startswith(begin) for start in self._starts):
                self._held = text
                return None
            self._starts, self._held = (), ""
            return text
        self._starts = ()
        self._held = text[: len(text) - len(begin)]
        self._block = self._style.open(self._tools)
        return begin

    def _read_block(self, text: str, found: list[str | ToolCall]) -> str | None:
        verdict = self._block.feed(text) if self._block else None
        return self._close(verdict, found) if verdict else None

    def _close(self, verdict: Verdict, found: list[str | ToolCall]) -> str:
        self._block = None
        if verdict.reason:
            self.failures.append(f"{self._style.name}: {verdict.reason}")
        if not verdict.calls:
            if verdict.kept or not verdict.rest:
                found += self._text(self._held + verdict.kept)
                return verdict.rest
            # A reader that has read nothing would be given the same again, for ever.
            found += self._send(self._held + verdict.rest[0])
            self._held = ""
            return verdict.rest[1:]
        if verdict.kept:
            found += self._text(self._held + verdict.kept)
        found += verdict.calls
        self._held = ""
        self._call_sent = True
        self._line_blank = True
        return verdict.rest

    def _read_text(self, text: str, found: list[str | ToolCall]) -> str | None:
        text = self._held + text
        at = 0
        while match := self._pattern.search(text, at):
            if match[0] in self._style.markers or self._begins_line(text, match.start()):
                kept = len(text[: match.start()].rstrip())
                found += self._send(text[:kept])
                self._held = text[kept : match.start()]
                self._block = self._style.open(self._tools)
                return text[match.start() :]
            at = match.end()
        found += self._text(text)
        return None

    def _begins_line(self, text: str, start: int) -> bool:
        line = text.rfind("\n", 0, start) + 1
        return not text[line:start].strip() and (line > 0 or self._line_blank)

    def _text(self, text: str) -> list[str | ToolCall]:
        """Send what is certain of `text`, and hold the rest."""
        end = sendable(text, self._markers)
        self._held = text[end:]
        return self._send(text[:end])

    def _send(self, text: str) -> list[str | ToolCall]:
        if self._call_sent:
            text = text.lstrip()
            if text and self._text_sent:
                text = "\n" + text
        if not text:
            return []
        self._line_blank = not text[text.rfind("\n") + 1 :].strip() and ("\n" in text or self._line_blank)
        self._text_sent = True
        self._call_sent = False
        return [text]


def _any_of(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the first, and the longest of those; nothing where there are none."""
    longest_first = sorted(markers, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
