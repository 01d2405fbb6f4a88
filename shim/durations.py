"""Durations as Go spells and reads them: `300ms`, `1h30m`, `-5m`, `0`. Knows nothing of what they are for."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
}
_NUMBER = re.compile(r"(?P<whole>[0-9]*)(?P<dot>\.?)(?P<fraction>[0-9]*)", re.ASCII)
_UNIT = re.compile(r"[^.0-9]*", re.ASCII)
_LARGEST = 2**63 - 1


def parse_duration(text: str) -> int:
    """Nanoseconds, possibly negative. ValueError with Go's text (`time: invalid duration "abc"`)."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    total = 0
    while rest:
        nanoseconds, rest = _part(text, rest)
        total += nanoseconds
        if total > _LARGEST + (text[0] == "-"):
            raise ValueError(f"time: invalid duration {_quoted(text)}")
    return -total if text[0] == "-" else total


def _part(text: str, rest: str) -> tuple[int, str]:
    """The first number and unit of `rest` in nanoseconds, and what follows them."""
    match = _NUMBER.match(rest)
    if match is None or not (match["whole"] or match["fraction"]):
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    found = _UNIT.match(rest, match.end())
    unit = found.group() if found else ""
    if not unit:
        raise ValueError(f"time: missing unit in duration {_quoted(text)}")
    if unit not in _UNITS:
        raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    if len(match.group()) > 400:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    scale = _UNITS[unit]
    nanoseconds = int(match["whole"] or 0) * scale + _share(match["fraction"], scale)
    return nanoseconds, rest[match.end() + len(unit) :]


def _share(fraction: str, unit: int) -> int:
    """That fraction of a unit, by floating point and without the digits beyond 64 bits, as Go does it."""
    value, scale = 0, 1.0
    for digit in fraction:
        if value > _LARGEST // 10:
            break
        value, scale = value * 10 + int(digit), scale * 10
    return int(value * (unit / scale))


def _quoted(text: str) -> str:
    """In quotes the way Go's package time does it: everything outside of printable ASCII as \\x bytes."""
    return '"' + "".join(map(_quoted_char, text)) + '"'


def _quoted_char(char: str) -> str:
    if char in ('"', "\\"):
        return "\\" + char
    if " " <= char <= "~" or char == "\x7f":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
