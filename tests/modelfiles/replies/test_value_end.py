"""Where a JSON value ends, however it arrives."""

import pytest

from modelfiles.replies.value_end import Scan, ValueScanner
from tests.streams import cuts


def scan(pieces: list[str]) -> tuple[str, str, Scan]:
    """What belongs to the value, what was left over, and the last answer."""
    scanner = ValueScanner("</end>")
    taken, rest, stop = "", "", Scan.MORE
    for piece in pieces:
        rest += piece
        if stop is Scan.MORE:
            position, stop = scanner.scan(rest)
            taken, rest = taken + rest[:position], rest[position:]
    return taken, rest, stop


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        ('{"a": 1}', " x"),
        ('{"a": "}\\"}"}', "}"),
        ("{'a': '}\"'}", ""),
        ('[{"a": []}, "]"]', "]"),
        ('{"a": "</end>"}', "</end>"),
        ('{"a": 1 // }\n}', ""),
        ('{"a": /* } */ 1}', ""),
        ('{"path": "C:\\\\"}', "\n</end>"),
        ('{"a": 1 < 2}', ""),
    ],
)
def test_end(value: str, rest: str) -> None:
    for pieces in cuts(value + rest):
        assert scan(pieces) == (value, rest, Scan.END)


def test_closer_where_the_end_is_missing() -> None:
    for pieces in cuts('{"a": {"b": 1}\n</end> more'):
        assert scan(pieces) == ('{"a": {"b": 1}\n', "</end> more", Scan.CLOSER)


def test_no_end() -> None:
    for pieces in cuts('{"a": "cut'):
        taken, rest, stop = scan(pieces)
        assert (taken + rest, stop) == ('{"a": "cut', Scan.MORE)


def test_each_character_is_read_once() -> None:
    scanner = ValueScanner("</end>")
    assert scanner.scan('{"a": "') == (7, Scan.MORE)
    assert scanner.in_string
    assert scanner.scan("x" * 1000) == (1000, Scan.MORE)
    assert scanner.scan('"}') == (2, Scan.END)
