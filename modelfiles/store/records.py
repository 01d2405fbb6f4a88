"""What is remembered of files that were linked into the store: their identity when they were hashed.

A hard-linked blob can be changed behind the store's back. The record says what the file looked like when
its hash was taken, so that a change is seen without hashing it again, and a file that did not change is
hashed only once. Records lie beside the blobs folder, because Ollama removes from that folder what it does
not know.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from modelfiles.errors import InvalidDigest
from modelfiles.store.durable import NewFile, as_store_error, remove_abandoned
from modelfiles.store.paths import Layout

_PREFIX = ".new-"
# Two writes within one tick of the file system's clock leave the same time; some clocks tick in seconds
_TICK_NS = 100_000_000
_SLOW_TICK_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """A file outside of the store and the blob made of it. `shared`: they are one file with two names."""

    digest: str
    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    hashed_ns: int
    used_ns: int
    shared: bool

    def matches(self, status: os.stat_result) -> bool:
        """Whether the file still looks as it did when it was hashed."""
        looks = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        return looks == (self.device, self.inode, self.size, self.mtime_ns)

    @property
    def settled(self) -> bool:
        """Whether a change after the hashing must show in the file's time of change."""
        tick = _SLOW_TICK_NS if self.mtime_ns % 1_000_000_000 == 0 else _TICK_NS
        return self.hashed_ns - self.mtime_ns > tick


def record_of(digest: str, path: Path, status: os.stat_result, hashed_ns: int, *, shared: bool) -> LinkRecord:
    return LinkRecord(
        digest=digest,
        path=str(path),
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        hashed_ns=hashed_ns,
        used_ns=hashed_ns,
        shared=shared,
    )


class Records:
    """One small file for each linked blob. A record that cannot be read counts as none."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def get(self, digest: str) -> LinkRecord | None:
        return _read(self._layout.record(digest), digest)

    def find(self, status: os.stat_result) -> LinkRecord | None:
        """The record of a file that looks like this one and cannot have changed unseen."""
        return next((item for item in self._all() if item.matches(status) and item.settled), None)

    def put(self, record: LinkRecord) -> None:
        folder = self._layout.linked
        self.remove_abandoned()
        with as_store_error(f"cannot write to {folder}"), NewFile(folder, _PREFIX) as file:
            file.write(json.dumps(asdict(record)).encode())
            file.commit(self._layout.record(record.digest))

    def use(self, digest: str, now_ns: int) -> None:
        """Say that the blob is in use, as the time of change does for other blobs."""
        record = self.get(digest)
        if record is not None:
            self.put(replace(record, used_ns=now_ns))

    def remove_abandoned(self) -> list[str]:
        return remove_abandoned(self._layout.linked, _PREFIX)

    def drop(self, digest: str) -> None:
        self._layout.record(digest).unlink(missing_ok=True)

    def _all(self) -> Iterator[LinkRecord]:
        with suppress(FileNotFoundError), os.scandir(self._layout.linked) as entries:
            for entry in entries:
                digest = "sha256:" + entry.name.removesuffix(".json")
                with suppress(InvalidDigest):
                    record = _read(self._layout.record(digest), digest)
                    if record is not None:
                        yield record


def _read(path: Path, digest: str) -> LinkRecord | None:
    """Absent, unreadable or of another version are all the same: the file will be hashed again."""
    try:
        content = json.loads(path.read_bytes())
        record = LinkRecord(**content)
    except (OSError, ValueError, TypeError):
        return None
    return record if record.digest == digest else None
