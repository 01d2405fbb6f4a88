"""Which answers are worth reading: a table of what servers send."""

import pytest
from multidict import CIMultiDict

from mirrors.answers import Accepted, Asked, Rejected, judge

ASKED = Asked(10_000_000, 20_000_000, 100_000_000, ranged=True)


def part(start: int, end: int, total: int | str = 100_000_000, **more: str) -> dict[str, str]:
    return {"Content-Range": f"bytes {start}-{end - 1}/{total}", "Content-Length": str(end - start), **more}


ACCEPTED = [
    (206, part(10_000_000, 20_000_000), Accepted(0, 10_000_000, 20_000_000, 100_000_000)),
    (200, part(10_000_000, 20_000_000), Accepted(0, 10_000_000, 20_000_000, 100_000_000)),
    (206, part(10_000_000, 15_000_000), Accepted(0, 10_000_000, 15_000_000, 100_000_000)),
    (206, part(9_999_000, 20_000_000), Accepted(1000, 10_000_000, 20_000_000, 100_000_000)),
    (206, part(10_000_000, 20_000_000, "*"), Accepted(0, 10_000_000, 20_000_000, 100_000_000)),
    (206, part(10_000_000, 30_000_000), Accepted(0, 10_000_000, 20_000_000, 100_000_000)),
]


@pytest.mark.parametrize(("status", "headers", "verdict"), ACCEPTED)
def test_accepted(status: int, headers: dict[str, str], verdict: Accepted) -> None:
    assert judge(ASKED, status, CIMultiDict(headers)) == verdict


REJECTED = [
    (206, part(10_000_001, 20_000_000), "anomaly"),
    (206, part(5_000_000, 20_000_000), "anomaly"),
    (206, part(10_000_000, 20_000_000, 99), "other"),
    (206, part(0, 100_000_000), "no_range"),
    (206, {}, "anomaly"),
    (206, {"Content-Type": "multipart/byteranges; boundary=x"}, "anomaly"),
    (206, {**part(10_000_000, 20_000_000), "Content-Length": "5"}, "anomaly"),
    (206, part(10_000_000, 20_000_000, **{"content-encoding": "gzip"}), "anomaly"),
    (200, {"Content-Length": "100000000"}, "no_range"),
    (200, {"Content-Length": "99"}, "other"),
    (200, {"Content-Length": "0"}, "anomaly"),
    (200, {"Content-Length": "99", "Content-Type": "text/html"}, "anomaly"),
    (416, {"Content-Range": "bytes */100000000"}, "anomaly"),
    (416, {"Content-Range": "bytes */10000000"}, "other"),
    (400, {}, "denied"),
    (401, {}, "denied"),
    (404, {}, "missing"),
    (407, {}, "proxy"),
    (429, {}, "busy"),
    (521, {}, "busy"),
    (304, {}, "anomaly"),
]


@pytest.mark.parametrize(("status", "headers", "fault"), REJECTED)
def test_rejected(status: int, headers: dict[str, str], fault: str) -> None:
    verdict = judge(ASKED, status, CIMultiDict(headers))
    assert isinstance(verdict, Rejected)
    assert verdict.fault == fault


def test_a_whole_file_where_that_was_asked_for() -> None:
    whole = Asked(0, 100, 100, ranged=False)
    assert judge(whole, 200, {"Content-Length": "100"}) == Accepted(0, 0, 100, 100, whole=True)
    assert judge(whole, 200, {}) == Accepted(0, 0, 100, 100, whole=True)
    ranged = Asked(0, 50, 100, ranged=True)
    assert judge(ranged, 206, part(0, 100, 100)) == Accepted(0, 0, 100, 100, whole=True)
    assert judge(Asked(40, 100, 100, ranged=False), 200, {}) == Accepted(40, 40, 100, 100, whole=True)
