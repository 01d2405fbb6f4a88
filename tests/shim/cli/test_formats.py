"""Sizes, counts, times and tables as the command line writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from shim.cli.formats import (
    count_text,
    duration_text,
    exact_duration_text,
    moment_text,
    parse_time,
    processor_text,
    size_text,
    table,
    until_text,
    width,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (1500, "1.5 KB"), (9_990_000, "10.0 MB"),
     (10_900_000, "10 MB"), (274_301_056, "274 MB"), (4_661_230_720, "4.7 GB"),
     (12_000_000_000, "12 GB"), (2 * 10**12, "2 TB")],
)  # fmt: skip
def test_sizes(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (12_000, "12K"), (22_570_000, "22.57M"), (137_000_000, "137M"),
     (7_241_732_096, "7.2B"), (8_000_000_000, "8B"), (134_515_008, "134.52M")],
)  # fmt: skip
def test_counts(count: int, text: str) -> None:
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(milliseconds=900), "Less than a second"),
        (timedelta(seconds=1.9), "1 second"),
        (timedelta(seconds=59), "59 seconds"),
        (timedelta(seconds=60), "About a minute"),
        (timedelta(seconds=119), "About a minute"),
        (timedelta(minutes=59, seconds=59), "59 minutes"),
        (timedelta(hours=1), "About an hour"),
        (timedelta(hours=1, minutes=30), "2 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(hours=48), "2 days"),
        (timedelta(days=13, hours=23), "13 days"),
        (timedelta(days=14), "2 weeks"),
        (timedelta(days=59), "8 weeks"),
        (timedelta(days=60), "2 months"),
        (timedelta(days=729), "24 months"),
        (timedelta(days=730), "2 years"),
    ],
)
def test_durations(duration: timedelta, text: str) -> None:
    assert duration_text(duration) == text


def test_moments() -> None:
    assert moment_text(NOW - timedelta(days=21), NOW) == "3 weeks ago"
    assert moment_text(NOW + timedelta(minutes=4, seconds=30), NOW) == "4 minutes from now"
    assert moment_text(NOW, NOW) == "Less than a second ago"
    assert until_text(NOW + timedelta(days=365 * 292), NOW) == "Forever"
    assert until_text(NOW - timedelta(seconds=1), NOW) == "Stopping..."


@pytest.mark.parametrize(
    ("size_bytes", "size_vram_bytes", "text"),
    [(100, 0, "100% CPU"), (0, 0, "100% CPU"), (100, 100, "100% GPU"), (100, 60, "40%/60% CPU/GPU"),
     (100, 101, "Unknown"), (1000, 995, "1%/99% CPU/GPU")],
)  # fmt: skip
def test_processors(size_bytes: int, size_vram_bytes: int, text: str) -> None:
    assert processor_text(size_bytes, size_vram_bytes) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (850, "850ns"), (1_500, "1.5µs"), (12_500_000, "12.5ms"), (1_000_000_000, "1s"),
     (4_535_599_167, "4.535599167s"), (123_250_000_000, "2m3.25s"), (3_600_000_000_000, "1h0m0s"),
     (3_723_000_000_001, "1h2m3.000000001s")],
)  # fmt: skip
def test_exact_durations(nanoseconds: int, text: str) -> None:
    assert exact_duration_text(nanoseconds) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T12:00:00Z", NOW),
        ("2026-11-30T12:00:00.123456789Z", NOW.replace(microsecond=123456)),
        ("2026-11-30T12:00:00.5Z", NOW.replace(microsecond=500000)),
        (
            "2026-11-30T14:00:00.25+02:00",
            NOW.astimezone(timezone(timedelta(hours=2))).replace(microsecond=250000),
        ),
        ("2026-11-30T07:00:00-05:00", NOW),
    ],
)
def test_times(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


def test_tables_are_aligned_by_what_a_terminal_shows() -> None:
    assert width("专家 x") == 6
    assert table([("NAME", "SIZE"), ("专家", "1 B"), ("long name", "")], "  ") == (
        "  NAME         SIZE\n"
        "  专家         1 B\n"
        "  long name\n"
    )  # fmt: skip
    assert table([]) == ""
