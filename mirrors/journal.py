"""What is known of an unfinished file, as lines that are only ever appended: text to values and back. Pure.

Each line is a JSON object, a space, and the CRC-32 of that object's text in eight hex digits:

    {"v":1,"key":…,"digest":…,"size":…,"etag":…}   first of all; another file's journal begins anew
    {"a":start,"b":end,"c":crc,"m":mirror}         bytes from start to end are written and have this CRC-32
    {"bad":[start,end]}                            they turned out wrong: whatever was said of them is void
    {"clean":1}                                    all of it is on the disk; counts only as the last line

Lines with the same start tell of a run that grows: the checksum of the longest is continued from the shorter.
A line that is torn or damaged ends the journal; what stands before it counts. A line may outlive the bytes it
tells of when the power fails. That is why it carries their checksum: it is checked, not believed.
"""

import json
import zlib
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from mirrors.parts import Spans

VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """Whose journal it is. `digest` and `etag` are "" where they are not known."""

    key: str
    digest: str
    size: int
    etag: str = ""


@dataclass(slots=True)
class Run:
    """Bytes that one connection wrote in one go, with the checksum at several points on the way."""

    start: int
    mirror: str
    points: list[tuple[int, int]] = field(default_factory=list)  # (end, CRC-32 from start to there)

    @property
    def end(self) -> int:
        return self.points[-1][0] if self.points else self.start


@dataclass(slots=True)
class Account:
    """What a journal says. `valid_bytes`: how much of its text counts."""

    runs: list[Run]
    clean: bool
    valid_bytes: int

    @property
    def claimed(self) -> Spans:
        return Spans((run.start, run.end) for run in self.runs)


def header_line(header: Header) -> bytes:
    known = {"key": header.key, "digest": header.digest, "size": header.size, "etag": header.etag}
    return _line({"v": VERSION, **known})


def run_line(start: int, end: int, crc: int, mirror: str) -> bytes:
    return _line({"a": start, "b": end, "c": crc, "m": mirror})


def bad_line(start: int, end: int) -> bytes:
    return _line({"bad": [start, end]})


def clean_line() -> bytes:
    return _line({"clean": 1})


def read_header(data: bytes) -> Header | None:
    """The first line's; None where it cannot be read or is of another version."""
    found = _object(data[: data.find(b"\n") + 1])
    if found is None or found.get("v") != VERSION:
        return None
    key, digest, size, etag = (found.get(name) for name in ("key", "digest", "size", "etag"))
    if not (isinstance(key, str) and isinstance(digest, str) and isinstance(etag, str) and _is_offset(size)):
        return None
    return Header(key, digest, size, etag)


def read(data: bytes, header: Header) -> Account | None:
    """What the journal says of this very file; None if it is another one's, or none at all."""
    if read_header(data) != header:
        return None
    at = data.find(b"\n") + 1
    runs: dict[int, Run] = {}
    clean = False
    while (end := data.find(b"\n", at) + 1) > 0:
        line = _object(data[at:end])
        if line is None or not _apply(line, runs, header.size):
            break
        clean = "clean" in line
        at = end
    return Account(_apart(runs), clean, at)


def compacted(header: Header, runs: list[Run]) -> bytes:
    """The shortest journal that says the same, for bytes that are on the disk."""
    lines = [run_line(run.start, *run.points[-1], run.mirror) for run in runs if run.points]
    return b"".join([header_line(header), *lines])


def _apply(line: dict[str, Any], runs: dict[int, Run], size: int) -> bool:
    """Whether the line made sense."""
    if "bad" in line:
        return _void(line["bad"], runs)
    if "clean" in line:
        return True
    start, end, crc, mirror = (line.get(name) for name in "abcm")
    if not (_is_offset(start) and _is_offset(end) and _is_offset(crc) and start < end <= size):
        return False
    run = runs.get(start)
    if run is None or end <= run.end:
        run = runs[start] = Run(start, str(mirror))
    run.points.append((end, crc))
    return True


def _void(span: Any, runs: dict[int, Run]) -> bool:
    if not (isinstance(span, list) and len(span) == 2 and all(map(_is_offset, span))):
        return False
    for start, run in list(runs.items()):
        if start < span[1] and run.end > span[0]:
            run.points = [point for point in run.points if point[0] <= span[0]]
            if not run.points:
                del runs[start]
    return True


def _apart(runs: dict[int, Run]) -> list[Run]:
    """In order, and none that reaches into the next: such a claim would be of overwritten bytes."""
    kept: list[Run] = []
    for run in sorted((run for run in runs.values() if run.points), key=lambda run: run.start):
        if kept and run.start < kept[-1].end:
            kept[-1].points = [point for point in kept[-1].points if point[0] <= run.start]
            if not kept[-1].points:
                kept.pop()
        kept.append(run)
    return kept


def _line(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%s %08x\n" % (text, zlib.crc32(text))


def _object(line: bytes) -> dict[str, Any] | None:
    text, _, rest = line.rpartition(b" ")
    if len(rest) != 9 or rest != b"%08x\n" % zlib.crc32(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_offset(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
