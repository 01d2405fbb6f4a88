"""What an answer to a request for bytes is worth, decided from status and headers before a byte is used.

The status is no proof: some servers answer a range with 200 and a right Content-Range, others ignore Range,
shift it, or send an error page with 200. Only a Content-Range that fits what was asked, or the whole file at
its known size, is written. RFC 9110 §14 says what the headers mean. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MOST_SKIPPED_BYTES = 1 << 20

Fault = Literal[
    "anomaly",  # an answer that no right server gives; three of them, and the source is dropped
    "no_range",  # it sends whole files only
    "other",  # it has another file
    "missing",  # it does not have it
    "denied",  # it wants (other) credentials, or its address has run out
    "busy",  # try later
    "proxy",  # something on the way answered instead
    "empty",  # nothing is left there to get
]

_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,19})-(\d{1,19})/(\d{1,19}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d{1,19})", re.IGNORECASE)
_PAGES = ("text/html", "application/xhtml", "application/xml", "text/xml", "application/json", "multipart/")
_BUSY = {408, 420, 421, 425, 429, 500, 502, 503, 504, 509, *range(520, 531)}


@dataclass(frozen=True, slots=True)
class Asked:
    """The bytes `start` up to, without, `end` of a file of `total` bytes; None where that is not known.

    `ranged`: whether the request had a Range header at all.
    """

    start: int
    end: int | None
    total: int | None
    ranged: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """Skip `skip` bytes, then come the bytes from `start` to `end` (None: to where the body ends)."""

    skip: int
    start: int
    end: int | None
    total: int | None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing of the body is used, but maybe shown. `why` completes "the source …"."""

    fault: Fault
    why: str


Verdict = Accepted | Rejected


def judge(asked: Asked, status: int, headers: Mapping[str, str]) -> Verdict:
    """What to do with the answer. `headers` must not care about upper and lower case."""
    if status == 416:
        return _unsatisfied(asked, headers)
    if status not in (200, 206):
        return _refusal(status)
    coding = headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        return Rejected("anomaly", f"compressed the bytes ({coding[:20]}) though it was asked not to")
    found = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if found:
        return _part(asked, found, _length(headers))
    if status == 206:
        return Rejected("anomaly", "sent a part without saying which (206 with no usable Content-Range)")
    return _whole(asked, headers)


def _part(asked: Asked, found: re.Match[str], length: int | None) -> Verdict:
    start, end = int(found[1]), int(found[2]) + 1
    total = asked.total if found[3] == "*" else int(found[3])
    if asked.total is not None and total != asked.total:
        return Rejected("other", f"has a file of {total} bytes, not {asked.total}")
    if start >= end or (total is not None and end > total):
        return Rejected("anomaly", f"sent a Content-Range that cannot be: {found[0][:60]}")
    if length is not None and length != end - start:
        return Rejected("anomaly", f"announced {length} bytes for a range of {end - start}")
    if start > asked.start or end <= asked.start:
        return Rejected("anomaly", f"sent bytes from {start} where {asked.start} was asked for")
    if asked.start == 0 and asked.end is not None and asked.end < end == total:
        return Accepted(0, 0, end, total, whole=True)  # all of it, in the clothes of a part
    skip = asked.start - start
    if skip > MOST_SKIPPED_BYTES:
        if start == 0 and end == total:
            return Rejected("no_range", "sends whole files only")
        return Rejected("anomaly", f"sent bytes from {start} where {asked.start} was asked for")
    end = end if asked.end is None else min(end, asked.end)  # more than was asked for is not read
    return Accepted(skip, asked.start, end, total)


def _whole(asked: Asked, headers: Mapping[str, str]) -> Verdict:
    length = _length(headers)
    kind = headers.get("Content-Type", "").lower()
    if asked.total is not None and length is not None and length != asked.total:
        if kind.startswith(_PAGES) or length == 0:
            what = "nothing" if length == 0 else f"a page ({kind.split(';')[0][:40]})"
            return Rejected("anomaly", f"answered {what} instead of the file")
        return Rejected("other", f"has a file of {length} bytes, not {asked.total}")
    if length is None and kind.startswith(_PAGES[:4]):
        return Rejected("anomaly", f"answered a page ({kind.split(';')[0][:40]}) instead of the file")
    if asked.start > 0 and asked.ranged:
        return Rejected("no_range", "sends whole files only")
    total = asked.total if length is None else length
    return Accepted(asked.start, asked.start, total, total, whole=True)


def _unsatisfied(asked: Asked, headers: Mapping[str, str]) -> Verdict:
    """Never a proof that all is there."""
    found = _UNSATISFIED.fullmatch(headers.get("Content-Range", "").strip())
    total = int(found[1]) if found else None
    if total is not None and asked.total is not None and total != asked.total:
        return Rejected("other", f"has a file of {total} bytes, not {asked.total}")
    if total is not None and total == asked.start and (asked.total is None or total == asked.total):
        return Rejected("empty", f"has no bytes after {total}")
    return Rejected("anomaly", "said that the range cannot be had (416)")


def _refusal(status: int) -> Rejected:
    if status in (404, 410, 451):
        return Rejected("missing", f"does not have it ({status})")
    if status in (400, 401, 403):
        return Rejected("denied", f"refused it ({status})")
    if status in (407, 511):
        return Rejected("proxy", f"is behind a proxy or portal that wants a login ({status})")
    if status in _BUSY:
        return Rejected("busy", f"is busy or broken ({status})")
    return Rejected("anomaly", f"answered {status}")


def _length(headers: Mapping[str, str]) -> int | None:
    text = headers.get("Content-Length", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 else None
