"""Bringing a file into the store without copying it, where the file system allows that.

In this order: a clone that shares the disk blocks (FICLONE), a second name for the same file (hard link), a
copy. The file is read once, to be hashed. A second name makes the blob as changeable as the file, so a
record of the file's identity is written before the blob has its name. The file itself is never touched.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from modelfiles.errors import BadGGUF, BlobNotFound, StoreError
from modelfiles.gguf import read_gguf
from modelfiles.store.blobs import TEMPORARY_PREFIX, Blobs, Progress, copy_and_hash, hash_file
from modelfiles.store.durable import as_store_error, is_same_file, sync_folder, temporary_name
from modelfiles.store.paths import Layout, digest_of_blob
from modelfiles.store.records import Records, record_of

# From linux/fs.h: _IOW(0x94, 9, int)
_FICLONE = 0x40049409
_MAGIC = b"GGUF"


class Linker:
    """Puts files of the user into the blobs folder. `now_ns` is a clock: nanoseconds since 1970."""

    def __init__(self, layout: Layout, blobs: Blobs, records: Records, now_ns: Callable[[], int]) -> None:
        self._layout = layout
        self._blobs = blobs
        self._records = records
        self._now_ns = now_ns

    def link(self, path: Path, progress: Progress | None = None) -> str:
        """Make the file a blob; return its digest.

        Raises BadGGUF for a damaged GGUF, before anything is stored, and StoreError if the file cannot be
        read, changes meanwhile, or does not fit.
        """
        path = Path(os.path.realpath(path))
        with _opened(path) as descriptor:
            own = self._own(path)
            if own is not None:
                return own
            known = self._known(os.fstat(descriptor), progress)
            if known is not None:
                return known
            if os.pread(descriptor, len(_MAGIC), 0) == _MAGIC:
                _check_header(path)
            return (
                self._clone(path, descriptor, progress)
                or self._second_name(path, descriptor, progress)
                or self._copy(path, descriptor, progress)
            )

    def use(self, digest: str) -> None:
        """Say that a blob is in use, without touching a file that is the user's too."""
        record = self._records.get(digest)
        if record is not None and record.shared:
            self._records.use(digest, self._now_ns())
        else:
            self._blobs.touch(digest)

    def verify(self, digest: str, progress: Progress | None = None) -> None:
        """Raise StoreError, naming the file, if a blob that shares a user's file was changed since.

        Costs one look at the file's times, and a new hash only where they differ.
        """
        record = self._records.get(digest)
        if record is None or not record.shared:
            self._blobs.path(digest)
            return
        with self._blobs.using(digest) as path, open(path, "rb") as file:
            descriptor = file.fileno()
            status = os.fstat(descriptor)
            if record.matches(status) and record.settled:
                return
            now_ns = self._now_ns()
            if status.st_size != record.size or hash_file(descriptor, progress) != digest:
                raise StoreError(
                    f"{record.path} was changed after it had become part of a model (blob {digest}); "
                    "restore the file, or remove the model and create it again"
                )
            self._note(digest, Path(record.path), status, now_ns, shared=True)

    def _own(self, path: Path) -> str | None:
        """The digest, if the file is a blob of this store already."""
        digest = digest_of_blob(path.name)
        if digest is None or path.parent != Path(os.path.realpath(self._layout.blobs)):
            return None
        self.use(digest)
        return digest

    def _known(self, status: os.stat_result, progress: Progress | None) -> str | None:
        """The digest of a file that was hashed before and is still in the store."""
        record = self._records.find(status)
        try:
            if record is None or self._blobs.size(record.digest) != record.size:
                return None
            self.use(record.digest)
        except BlobNotFound:
            return None
        if progress is not None:
            progress(record.size, record.size)
        return record.digest

    def _clone(self, path: Path, descriptor: int, progress: Progress | None) -> str | None:
        with self._blobs.new_file() as file:
            status, now_ns = os.fstat(descriptor), self._now_ns()
            try:
                fcntl.ioctl(file.descriptor, _FICLONE, descriptor)
            except OSError:
                return None  # no such file system, or another one than the file's
            with as_store_error(f"cannot read {path}"):
                digest = hash_file(file.descriptor, progress)
            self._note(digest, path, status, now_ns, shared=False)
            self._blobs.adopt(file, digest)
            return digest

    def _second_name(self, path: Path, descriptor: int, progress: Progress | None) -> str | None:
        # A shared lock tells those who clear up that the temporary name is not abandoned
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        temporary = self._layout.blobs / temporary_name(TEMPORARY_PREFIX)
        try:
            os.link(path, temporary)
        except OSError:
            return None  # another disk, or links are not allowed here
        try:
            if not is_same_file(temporary, descriptor):
                raise StoreError(f"{path} was replaced while it was read; try again")
            status, now_ns = os.fstat(descriptor), self._now_ns()
            with as_store_error(f"cannot read {path}"):
                digest = hash_file(descriptor, progress)
                os.fsync(descriptor)  # the blob is to survive a power cut, though others wrote it
            _check_unchanged(path, status, descriptor)
            present = self._blobs.has(digest)
            shared = not present or os.path.samestat(self._blobs.status(digest), status)
            self._note(digest, path, status, now_ns, shared=shared)
            if present:
                self.use(digest)
            else:
                self._name(temporary, digest, path)
            return digest
        finally:
            temporary.unlink(missing_ok=True)

    def _name(self, temporary: Path, digest: str, path: Path) -> None:
        with as_store_error(f"cannot link {path} into {self._layout.blobs}"):
            os.rename(temporary, self._layout.blob(digest))
            sync_folder(self._layout.blobs)

    def _copy(self, path: Path, descriptor: int, progress: Progress | None) -> str:
        status, now_ns = os.fstat(descriptor), self._now_ns()
        present = self._present(path, descriptor, status, progress)
        if present is not None:
            self._note(present, path, status, now_ns, shared=False)
            self.use(present)
            return present
        free = shutil.disk_usage(self._layout.blobs).free
        if status.st_size > free:
            raise StoreError(
                f"no space left on device: {path} has {status.st_size} bytes, "
                f"but {self._layout.blobs} has only {free} left"
            )
        with self._blobs.new_file() as file:
            with as_store_error(f"cannot copy {path} to {self._layout.blobs}"):
                digest = copy_and_hash(descriptor, file, progress)
            _check_unchanged(path, status, descriptor)
            self._note(digest, path, status, now_ns, shared=False)
            self._blobs.adopt(file, digest)
        return digest

    def _present(
        self, path: Path, descriptor: int, status: os.stat_result, progress: Progress | None
    ) -> str | None:
        """The digest, if the store has this content. Read in vain only where a blob has the same size."""
        if not any(item.size == status.st_size for item in self._blobs.files()):
            return None
        with as_store_error(f"cannot read {path}"):
            digest = hash_file(descriptor, progress)
        _check_unchanged(path, status, descriptor)
        return digest if self._blobs.has(digest) else None

    def _note(self, digest: str, path: Path, status: os.stat_result, now_ns: int, *, shared: bool) -> None:
        """Remember the file. What is shared stays so, when the same content comes from another file too."""
        old = self._records.get(digest)
        if old is not None and old.shared and not shared and self._blobs.has(digest):
            self._records.put(replace(old, used_ns=now_ns))
            return
        self._records.put(record_of(digest, path, status, now_ns, shared=shared))


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    with as_store_error(f"cannot read {path}"):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{path} is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _check_header(path: Path) -> None:
    try:
        read_gguf(path)
    except BadGGUF as error:
        raise BadGGUF(f"{path}: {error}") from error


def _check_unchanged(path: Path, before: os.stat_result, descriptor: int) -> None:
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise StoreError(f"{path} was changed while it was read; try again when it is complete")
