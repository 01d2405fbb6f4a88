"""The last lines of a log, fed in any pieces."""

from __future__ import annotations

import pytest

from runtime.log_tail import LINE_CHARACTERS, LINES, LogTail

TEXT = "first\n\n  zweite: ü\r\nthird\tx\nrest".encode()
EXPECTED = ("first", "  zweite: ü", "third x", "rest")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pieces_of_any_size(size: int) -> None:
    tail = LogTail()
    lines = [line for at in range(0, len(TEXT), size) for line in tail.feed(TEXT[at : at + size])]
    assert tuple(lines + tail.end()) == EXPECTED
    assert tail.lines == EXPECTED


def test_only_the_last_lines_are_kept() -> None:
    tail = LogTail()
    for number in range(1000):
        tail.feed(f"{number}\n".encode())
    assert tail.lines == tuple(str(number) for number in range(1000 - LINES, 1000))


def test_a_line_without_end_does_not_grow() -> None:
    tail = LogTail()
    for _ in range(1000):
        tail.feed(b"x" * 1000)
    tail.end()
    assert tail.lines == ("x" * LINE_CHARACTERS,)


def test_control_characters_cannot_reach_a_terminal() -> None:
    tail = LogTail()
    assert tail.feed(b"\x1b[31mred\x00\n") == [" [31mred "]
