"""Files that are either there whole or not at all, whatever happens while they are written.

A new file is written under a temporary name, synced, renamed, and its folder synced. While it is written it
is locked; the lock goes with its process, however that ends, so an abandoned file can be told from one in
the making without looking at its age. Knows nothing of blobs or manifests.
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from modelfiles.errors import StoreError

FILE_MODE = 0o644
_NOT_SYNCABLE = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


@contextmanager
def as_store_error(doing: str) -> Iterator[None]:
    """Turn what the system refuses into a StoreError that says what was being done."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(f"{doing}: {reason}") from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it, durably."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SYNCABLE:  # some network file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)


class NewFile:
    """A file in the making. Ends by `commit`, or by `discard`, which a `with` block does for itself."""

    def __init__(self, folder: Path, prefix: str) -> None:
        make_folder(folder)
        self.path, self.descriptor = _create(folder, prefix)
        self._open = True

    def __enter__(self) -> "NewFile":
        return self

    def __exit__(self, *exception: object) -> None:
        self.discard()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]

    def commit(self, target: Path) -> None:
        """Give the file its name, replacing what had it. The target's folder must be on the same disk."""
        os.fchmod(self.descriptor, FILE_MODE)
        os.fsync(self.descriptor)
        os.rename(self.path, target)
        self._close()
        sync_folder(target.parent)

    def discard(self) -> None:
        """Forget the file, unless it was committed."""
        if self._open:
            with suppress(FileNotFoundError):
                self.path.unlink()
            self._close()

    def _close(self) -> None:
        self._open = False
        os.close(self.descriptor)


def remove_abandoned(folder: Path, prefix: str) -> list[str]:
    """Remove files with that prefix which nobody writes any more; return their names."""
    removed = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if (
                entry.name.startswith(prefix)
                and entry.is_file(follow_symlinks=False)
                and _abandoned(entry.path)
            ):
                removed.append(entry.name)
    return removed


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other threads and processes out that lock the same file; waits for them."""
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def temporary_name(prefix: str) -> str:
    return prefix + secrets.token_hex(8)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether the name still leads to the open file."""
    try:
        named = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))


def _create(folder: Path, prefix: str) -> tuple[Path, int]:
    """A new file with its lock. Who clears up may take a file before it has one; then another is made."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        path = folder / temporary_name(prefix)
        descriptor = os.open(path, flags, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_same_file(path, descriptor):
                return path, descriptor
        os.close(descriptor)


def _abandoned(path: str) -> bool:
    """Remove the file if its lock is free; whether it was removed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
