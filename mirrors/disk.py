"""An unfinished file and its journal on the disk. Blocking; one thread writes, others may read.

    <key>.data      the bytes, each where it belongs; holes where none have come
    <key>.journal   what is known of them (`mirrors/journal.py`)

Whatever ends the process or the power: what the journal claims is checked before it is believed, and what it
does not claim is fetched again. Knows nothing of networks.
"""

import ctypes
import errno
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mirrors import journal
from mirrors.errors import DiskFailed, NoRoom
from mirrors.journal import Header, Run
from mirrors.parts import MIB, Span, Spans

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_SYNCABLE = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
_COMPACT_BYTES = 1 << 20
_JOURNAL_MOST_BYTES = 64 << 20


class Files:
    """What is asked of the system. Of its own so that tests can be the system, and fail."""

    def write_at(self, descriptor: int, data: memoryview, offset: int) -> None:
        while data:
            count = os.pwrite(descriptor, data, offset)
            data, offset = data[count:], offset + count

    def append(self, descriptor: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def sync(self, descriptor: int) -> None:
        """Waits until the bytes are on the disk."""
        getattr(os, "fdatasync", os.fsync)(descriptor)

    def reserve(self, descriptor: int, size: int) -> None:
        """Takes the blocks now where the file system can; makes a hole of that size where it cannot."""
        if sys.platform == "linux":
            # Not posix_fallocate: the C library would write zeros where the file system cannot reserve
            library = ctypes.CDLL(None, use_errno=True)
            if library.fallocate64(descriptor, 0, ctypes.c_int64(0), ctypes.c_int64(size)) == 0:
                return
            number = ctypes.get_errno()
            if number in (*_FULL, errno.EFBIG):
                raise OSError(number, os.strerror(number))
        os.ftruncate(descriptor, size)


@contextmanager
def as_disk_error(doing: str) -> Iterator[None]:
    """Turns what the system refuses into NoRoom or DiskFailed."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno in _FULL:
            raise NoRoom(f"{doing}: {reason}; free some space and pull again, nothing is lost") from error
        if error.errno == errno.EFBIG:
            raise DiskFailed(f"{doing}: the file system allows no file of this size") from error
        raise DiskFailed(f"{doing}: {reason}") from error


@dataclass(slots=True)
class Piece:
    """Bytes that came, where they belong, and the run that they go on with."""

    run: Run
    offset: int
    data: bytes | memoryview


class WorkFile:
    """One file in the making. Raises DiskFailed and NoRoom from everything that touches the disk."""

    def __init__(self, folder: Path, header: Header, files: Files | None = None) -> None:
        self.header = header
        self.path = folder / f"{header.key}.data"
        self.journal_path = folder / f"{header.key}.journal"
        self._files = files or Files()
        self.runs: dict[int, Run] = {}
        self.clean = False
        self._journal_bytes = self._journal_least = 0
        with as_disk_error(f"cannot open {self.path}"):
            folder.mkdir(parents=True, exist_ok=True)
            self._open()

    @property
    def claimed(self) -> Spans:
        """Bytes that are written, as far as is known."""
        return Spans((run.start, run.end) for run in self.runs.values())

    def _open(self) -> None:
        account = self._read_journal()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.descriptor = os.open(self.path, flags, 0o600)
        self._journal = os.open(self.journal_path, flags | os.O_APPEND, 0o600)
        if account is None or os.fstat(self.descriptor).st_size != self.header.size:
            self._begin()
        else:
            self.runs = {run.start: run for run in account.runs}
            self.clean = account.clean
            os.ftruncate(self._journal, account.valid_bytes)
            self._journal_bytes = self._journal_least = account.valid_bytes

    def _read_journal(self) -> journal.Account | None:
        try:
            with open(self.journal_path, "rb") as file:
                return journal.read(file.read(_JOURNAL_MOST_BYTES), self.header)
        except FileNotFoundError:
            return None

    def _begin(self) -> None:
        """Nothing is known: an empty file of the right size, and a journal that says whose it is."""
        os.ftruncate(self._journal, 0)
        os.ftruncate(self.descriptor, 0)
        if self.header.size:
            self._files.reserve(self.descriptor, self.header.size)
        self._append(journal.header_line(self.header))

    def write(self, pieces: Iterable[Piece]) -> None:
        """Writes each piece at the end of its run, then says so in the journal."""
        touched: dict[int, Run] = {}
        with as_disk_error(f"cannot write to {self.path}"):
            for piece in pieces:
                run, view = piece.run, memoryview(piece.data)
                end, crc = run.points[-1] if run.points else (run.start, 0)
                if end != piece.offset:
                    raise ValueError(f"bytes at {piece.offset} do not go on from {end}")
                self._files.write_at(self.descriptor, view, end)
                run.points = [(end + len(view), zlib.crc32(view, crc))]
                touched[run.start] = run
            self.clean = False
            self.runs.update(touched)
            self._append(b"".join(_line_of(run) for run in touched.values()))
        if self._journal_bytes > _COMPACT_BYTES + 4 * self._journal_least:
            self.compact()

    def sync(self) -> None:
        """What was written before is on the disk afterwards. Another thread may write meanwhile."""
        with as_disk_error(f"cannot write to {self.path}"):
            self._files.sync(self.descriptor)
            self._files.sync(self._journal)

    def compact(self) -> None:
        """Writes a shorter journal that says the same, and puts it in the place of the old one."""
        with as_disk_error(f"cannot write {self.journal_path}"):
            self._files.sync(self.descriptor)
            text = journal.compacted(self.header, list(self.runs.values()))
            new = self.journal_path.with_suffix(".journal-new")
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(new, flags, 0o600)
            try:
                self._files.append(descriptor, text)
                self._files.sync(descriptor)
                os.rename(new, self.journal_path)
            except OSError:
                os.close(descriptor)
                raise
            # The old descriptor may be in use by a sync of another thread: it stays the same number
            os.dup2(descriptor, self._journal, inheritable=False)
            os.close(descriptor)
            sync_folder(self.journal_path.parent)
            self._journal_bytes = self._journal_least = len(text)

    def good_points(self, run: Run) -> int:
        """Reads a run again that nobody writes; how many of its points are right. From any thread."""
        at, crc = run.start, 0
        for index, (end, expected) in enumerate(run.points):
            for chunk in self.read(at, end):
                crc = zlib.crc32(chunk, crc)
            if crc != expected:
                return index
            at = end
        return len(run.points)

    def forget(self, run: Run, points: int = 0) -> Span:
        """What comes after so many points of a run is to be fetched again; returns those bytes."""
        end, run.points = run.end, run.points[:points]
        if not run.points:
            self.runs.pop(run.start, None)
        with as_disk_error(f"cannot write {self.journal_path}"):
            self.clean = False
            self._append(journal.bad_line(run.end, end))
        return run.end, end

    def replace(self, offset: int, data: bytes) -> None:
        """Other bytes in the place of some that were written; the checksums of their runs are made anew."""
        with as_disk_error(f"cannot write to {self.path}"):
            self._files.write_at(self.descriptor, memoryview(data), offset)
            for run in list(self.runs.values()):
                if run.start >= offset + len(data) or run.end <= offset:
                    continue
                crc, end = 0, run.end
                for chunk in self.read(run.start, end):
                    crc = zlib.crc32(chunk, crc)
                run.points = [(end, crc)]
                self._append(journal.bad_line(run.start, end) + _line_of(run))

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes in pieces of up to a MiB; fewer where the file ends before."""
        while start < end:
            with as_disk_error(f"cannot read {self.path}"):
                data = os.pread(self.descriptor, min(MIB, end - start), start)
            if not data:
                return
            yield data
            start += len(data)

    def close(self, *, orderly: bool) -> None:
        """`orderly`: nobody writes any more, and what is claimed has been checked."""
        try:
            if orderly and not self.clean:
                self.sync()
                with as_disk_error(f"cannot write {self.journal_path}"):
                    self._append(journal.clean_line())
                    self._files.sync(self._journal)
        finally:
            for descriptor in (self.descriptor, self._journal):
                os.close(descriptor)

    def _append(self, text: bytes) -> None:
        self._files.append(self._journal, text)
        self._journal_bytes += len(text)


def _line_of(run: Run) -> bytes:
    return journal.run_line(run.start, *run.points[-1], run.mirror)


def sync_folder(path: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SYNCABLE:
            raise
    finally:
        os.close(descriptor)


def remove(folder: Path, key: str) -> None:
    """Forget an unfinished file. Its lock stays: others may wait for it."""
    with as_disk_error(f"cannot remove unfinished files in {folder}"):
        for suffix in (".journal", ".journal-new", ".data"):
            with suppress(FileNotFoundError):
                (folder / (key + suffix)).unlink()
