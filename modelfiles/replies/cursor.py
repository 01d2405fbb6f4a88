"""Walks through the text of one block, which may still go on.

A grammar of tool calls is a plain function over a cursor. Where the text so far does not decide, the cursor
raises `More`, and the grammar runs again when there is more text: so what it says cannot depend on how the
text arrived. Knows nothing of tools.
"""

import re
from collections.abc import Iterable

from modelfiles.replies.value_end import Scan, ValueScanner

_SPACE = re.compile(r"\s*")
_NO_CLOSER = "\0"


class More(Exception):  # caught by `modelfiles.replies.buffered`, never further out
    """What comes next decides."""


class Cut(Exception):  # likewise
    """Here it is certain that this is no call; the message says why. May be raised before the text ends."""


class Unended(Exception):  # likewise
    """Nothing follows, and something is not whole; the message says what."""


class Cursor:
    """A position in `text`; `final`: nothing follows it."""

    def __init__(self, text: str, *, final: bool) -> None:
        self.text = text
        self.final = final
        self.at = 0

    @property
    def ended(self) -> bool:
        """Whether the text is read to its end, and nothing follows. Raises More."""
        if self.at < len(self.text):
            return False
        if not self.final:
            raise More
        return True

    def space(self) -> None:
        """Go over white space."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def next(self) -> str:
        """The next character, which stays; empty at the end of everything. Raises More."""
        return "" if self.ended else self.text[self.at]

    def sees(self, literals: Iterable[str]) -> str | None:
        """The longest of `literals` that stands here. Raises More where one of them may be coming."""
        found = max((word for word in literals if self.text.startswith(word, self.at)), key=len, default=None)
        if not self.final and self._begun(literals):
            raise More
        return found

    def take(self, *literals: str) -> str | None:
        """As `sees`, and goes over it."""
        found = self.sees(literals)
        self.at += len(found or "")
        return found

    def take_end(self, *literals: str) -> bool:
        """As `take`; at the end of everything, as much as has been written is enough, even nothing."""
        if self.take(*literals) is not None:
            return True
        if self.final and self._begun(literals):
            self.at = len(self.text)
            return True
        return False

    def find(self, *literals: str, start: int | None = None) -> int:
        """Where the first of `literals` begins; -1 where none will come. Raises More."""
        begin = self.at if start is None else start
        found = [at for word in literals if (at := self.text.find(word, begin)) >= 0]
        if not found and not self.final:
            raise More
        return min(found, default=-1)

    def json(self) -> str:
        """Goes over the JSON object or list that begins here. Raises More, and Unended."""
        end, stop = ValueScanner(_NO_CLOSER).scan(self.text[self.at :])
        if stop is not Scan.END:
            raise Unended("the JSON does not end") if self.final else More
        written = self.text[self.at : self.at + end]
        self.at += end
        return written

    def _begun(self, literals: Iterable[str]) -> bool:
        rest = len(self.text) - self.at
        return any(rest < len(word) and self.text.endswith(word[:rest]) for word in literals)
