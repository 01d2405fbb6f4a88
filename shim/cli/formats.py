"""How the command line writes sizes, counts, times and tables: numbers and moments in, text out.

The forms are Ollama's, because scripts read them. Knows no clock: the present moment is an argument.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

_BYTE_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
_NANOSECOND_UNITS = ((1_000_000, "ms"), (1_000, "µs"))
_COLUMN_GAP = "    "
_YEAR = timedelta(days=365)


def size_text(size_bytes: int) -> str:
    """Decimal units: `4.7 GB`, `274 MB`, `12 GB`; from ten units on the fraction is cut off."""
    for unit_bytes, unit in _BYTE_UNITS:
        if size_bytes >= unit_bytes:
            value = size_bytes / unit_bytes
            shown = str(int(value)) if value >= 10 or value == int(value) else f"{value:.1f}"
            return f"{shown} {unit}"
    return f"{size_bytes} B"


def count_text(count: int) -> str:
    """Parameter counts: `7.2B`, `8B`, `22.57M`, `137M`, `12K`, `999`."""
    if count >= 10**9:
        return f"{_short(count / 10**9, 1)}B"
    if count >= 10**6:
        return f"{_short(count / 10**6, 2)}M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)


def _short(value: float, digits: int) -> str:
    return f"{value:.0f}" if value == math.floor(value) else f"{value:.{digits}f}"


def duration_text(duration: timedelta) -> str:
    """A rough duration: `Less than a second`, `About a minute`, `47 hours`, `3 weeks`."""
    seconds = int(duration.total_seconds())
    hours = int(duration.total_seconds() / 3600 + 0.5)
    if seconds < 1:
        return "Less than a second"
    if seconds < 60:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    if seconds < 3600:
        return "About a minute" if seconds < 120 else f"{seconds // 60} minutes"
    if hours < 48:
        return "About an hour" if hours == 1 else f"{hours} hours"
    return _days_text(hours // 24)


def _days_text(days: int) -> str:
    if days < 14:
        return f"{days} days"
    if days < 60:
        return f"{days // 7} weeks"
    return f"{days // 30} months" if days < 730 else f"{days // 365} years"


def moment_text(moment: datetime | None, now: datetime) -> str:
    """`3 weeks ago`, `4 minutes from now`; twenty years ahead is `Forever`, an unknown moment `-`."""
    if moment is None:
        return "-"
    ahead = moment - now
    if ahead >= 21 * _YEAR:
        return "Forever"
    if ahead > timedelta(0):
        return f"{duration_text(ahead)} from now"
    return f"{duration_text(-ahead)} ago"


def until_text(expires: datetime | None, now: datetime) -> str:
    """When a loaded model will be unloaded."""
    return "Stopping..." if expires is not None and expires < now else moment_text(expires, now)


def processor_text(size_bytes: int, size_vram_bytes: int) -> str:
    """Where a loaded model lies: `100% CPU`, `100% GPU`, `40%/60% CPU/GPU`."""
    if size_vram_bytes == 0:
        return "100% CPU"
    if size_vram_bytes == size_bytes:
        return "100% GPU"
    if size_vram_bytes > size_bytes:
        return "Unknown"
    cpu = math.floor((size_bytes - size_vram_bytes) / size_bytes * 100 + 0.5)
    return f"{cpu}%/{100 - cpu}% CPU/GPU"


def exact_duration_text(nanoseconds: int) -> str:
    """A duration as Go prints it: `1.5s`, `2m3.25s`, `1h0m0s`, `12.5ms`, `850ns`."""
    if nanoseconds < 1_000_000_000:
        for unit_nanoseconds, unit in _NANOSECOND_UNITS:
            if nanoseconds >= unit_nanoseconds:
                return f"{_decimal(nanoseconds, unit_nanoseconds)}{unit}"
        return f"{nanoseconds}ns" if nanoseconds else "0s"
    minutes, rest = divmod(nanoseconds, 60_000_000_000)
    seconds = f"{_decimal(rest, 1_000_000_000)}s"
    if minutes < 60:
        return f"{minutes}m{seconds}" if minutes else seconds
    return f"{minutes // 60}h{minutes % 60}m{seconds}"


def _decimal(value: int, unit: int) -> str:
    """`value / unit` with every digit and no zeros at the end."""
    whole, rest = divmod(value, unit)
    fraction = str(rest).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def parse_time(text: str) -> datetime:
    """An RFC 3339 moment with up to nanoseconds. Raises ValueError."""
    body, dot, fraction = text.replace("Z", "+00:00").partition(".")
    if not dot:
        return datetime.fromisoformat(body)
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    return datetime.fromisoformat(f"{body}.{fraction[:digits][:6].ljust(6, '0')}{fraction[digits:]}")


def width(text: str) -> int:
    """Columns that a text takes on a terminal: East Asian wide signs take two, combining ones none."""
    return sum(_rune_width(rune) for rune in text)


def _rune_width(rune: str) -> int:
    if unicodedata.combining(rune) or unicodedata.category(rune) in {"Cf", "Mn", "Me", "Cc"}:
        return 0
    return 2 if unicodedata.east_asian_width(rune) in {"W", "F"} else 1


def table(rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Left-aligned columns without borders, four blanks apart, one line a row."""
    cells = [tuple(row) for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return "".join(f"{indent}{_row(row, widths)}\n" for row in cells)


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (columns - width(cell)) for cell, columns in zip(row, widths, strict=True))
    return _COLUMN_GAP.join(padded).rstrip()
