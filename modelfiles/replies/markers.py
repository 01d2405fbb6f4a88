"""Markers in text that is still being written."""

from collections.abc import Iterable


def unfinished(text: str, markers: Iterable[str]) -> int:
    """Length of the longest end of `text` that is the beginning, but not the whole, of one of `markers`."""
    longest = 0
    for marker in markers:
        for length in range(min(len(marker) - 1, len(text)), longest, -1):
            if text.endswith(marker[:length]):
                longest = length
                break
    return longest


def sendable(text: str, markers: Iterable[str]) -> int:
    """How much of `text` can go out: not a beginning marker, and not the white space before it."""
    return len(text[: len(text) - unfinished(text, markers)].rstrip())
