"""Finds where a JSON value ends while it is still being written, without reading it twice.

Aware of strings in both kinds of quotes, of escapes and comments. Whether it is JSON at all is for
`modelfiles.replies.lenient` to say.
"""

import re
from enum import Enum, auto

_STRUCTURE = re.compile(r"[{}\[\]\"'/<]")
_IN_STRING = {quote: re.compile(rf"[\\{quote}]") for quote in "\"'"}


class Scan(Enum):
    """Why a scan stopped."""

    MORE = auto()  # the value goes on beyond the text
    END = auto()  # the value ended
    CLOSER = auto()  # the closing tag stands where the value should have ended


class ValueScanner:
    """Scans one value, which must begin with a brace or bracket; `closer` is the tag after it."""

    def __init__(self, closer: str) -> None:
        self._closer = closer
        self._depth = 0
        self._quote = ""

    @property
    def in_string(self) -> bool:
        return bool(self._quote)

    def scan(self, text: str) -> tuple[int, Scan]:
        """How far it came in `text`, and why it stopped there.

        After MORE, the text from that position on must be given again in front of what follows it.
        """
        at = 0
        while True:
            pattern = _IN_STRING[self._quote] if self._quote else _STRUCTURE
            match = pattern.search(text, at)
            if not match:
                return len(text), Scan.MORE
            at, stop = self._step(text, match)
            if stop is not None:
                return at, stop

    def _step(self, text: str, match: re.Match[str]) -> tuple[int, Scan | None]:
        char, start, after = match[0], match.start(), match.end()
        if char == "\\":
            return (after + 1, None) if after < len(text) else (start, Scan.MORE)
        if self._quote:
            self._quote = ""
            return after, None
        if char in "\"'":
            self._quote = char
            return after, None
        if char == "/":
            return self._comment(text, start)
        if char == "<":
            return self._tag(text, start)
        self._depth += 1 if char in "{[" else -1
        return after, Scan.END if self._depth <= 0 else None

    def _comment(self, text: str, start: int) -> tuple[int, Scan | None]:
        kind = text[start + 1 : start + 2]
        if kind not in ("/", "*"):
            return (start + 1, None) if kind else (start, Scan.MORE)
        end = "\n" if kind == "/" else "*/"
        found = text.find(end, start + 2)
        return (found + len(end), None) if found >= 0 else (start, Scan.MORE)

    def _tag(self, text: str, start: int) -> tuple[int, Scan | None]:
        written = text[start : start + len(self._closer)]
        if written == self._closer:
            return start, Scan.CLOSER
        return (start, Scan.MORE) if self._closer.startswith(written) else (start + 1, None)
