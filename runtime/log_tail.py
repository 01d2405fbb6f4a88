"""The last lines that a process wrote. Pure: bytes in any pieces, lines out; bounded in every direction."""

from __future__ import annotations

from collections import deque

LINES = 50
LINE_CHARACTERS = 500


class LogTail:
    """Keeps the last complete lines, oldest first, each cut to a sane length."""

    def __init__(self, lines: int = LINES) -> None:
        self._lines: deque[str] = deque(maxlen=lines)
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Take what was read; returns the lines that it completed, blank ones left out."""
        *whole, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: 4 * LINE_CHARACTERS]  # a line without an end must not grow for ever
        lines = [line for line in map(_clean, whole) if line]
        self._lines.extend(lines)
        return lines

    def end(self) -> list[str]:
        """Nothing more will come: an unfinished line counts as one."""
        return self.feed(b"\n")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines kept."""
        return tuple(self._lines)


def _clean(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip()
    return "".join(char if char.isprintable() else " " for char in text[:LINE_CHARACTERS])
