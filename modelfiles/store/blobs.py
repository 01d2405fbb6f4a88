"""Blobs on disk: content named after its hash, and hashed on its way in.

Knows nothing of manifests, nor of who needs a blob.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from modelfiles.errors import BlobNotFound, DigestMismatch, StoreError
from modelfiles.store.durable import (
    FILE_MODE,
    NewFile,
    as_store_error,
    make_folder,
    remove_abandoned,
    sync_folder,
)
from modelfiles.store.paths import Layout, digest_of_blob

# Looks like a blob to the eye and to Ollama's clearing up, yet is no digest
TEMPORARY_PREFIX = "sha256-new-"

# Bytes done and bytes in all
Progress = Callable[[int, int], None]

_CHUNK_BYTES = 1 << 20
_SMALL_BYTES = 16 << 20
_TOLD_EVERY_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class BlobFile:
    """A file in the blobs folder. `digest` is None where its name is not one."""

    name: str
    digest: str | None
    size: int
    mtime_ns: int


class Blobs:
    """The blobs folder of a store."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def has(self, digest: str) -> bool:
        return self._layout.blob(digest).is_file()

    def path(self, digest: str) -> Path:
        """Where the blob lies. Raises BlobNotFound."""
        path = self._layout.blob(digest)
        if not path.is_file():
            raise BlobNotFound(digest)
        return path

    @contextmanager
    def using(self, digest: str) -> Iterator[Path]:
        """The blob's path, to be opened or looked at. Others may remove it meanwhile: BlobNotFound, too."""
        path = self.path(digest)
        try:
            yield path
        except FileNotFoundError as error:
            raise BlobNotFound(digest) from error
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error

    def status(self, digest: str) -> os.stat_result:
        """Raises BlobNotFound."""
        with self.using(digest) as path:
            return path.stat()

    def size(self, digest: str) -> int:
        """Raises BlobNotFound."""
        return self.status(digest).st_size

    def read_small(self, digest: str) -> bytes:
        """The content of a blob that is no weights. Raises BlobNotFound and StoreError."""
        with self.using(digest) as path, open(path, "rb") as file:
            data = file.read(_SMALL_BYTES + 1)
        if len(data) > _SMALL_BYTES:
            raise StoreError(f"{path} is too large to be text or parameters")
        return data

    def writer(self) -> "BlobWriter":
        """A blob in the making, for content that comes bit by bit."""
        return BlobWriter(self, self.new_file())

    def new_file(self) -> NewFile:
        with as_store_error(f"cannot write to {self._layout.blobs}"):
            self.remove_abandoned()
            return NewFile(self._layout.blobs, TEMPORARY_PREFIX)

    def write(self, chunks: Iterable[bytes], expected: str | None = None) -> str:
        """Store content; return its digest. Raises DigestMismatch (the content stays) and StoreError."""
        with self.writer() as writer:
            for chunk in chunks:
                writer.write(chunk)
            return writer.finish(expected)

    def make(self, write: Callable[[Path], None], progress: Progress | None = None) -> str:
        """A blob whose content `write` puts into the file of this path, which it must not replace."""
        with self.new_file() as file:
            write(file.path)
            with as_store_error(f"cannot read {file.path}"):
                digest = hash_file(file.descriptor, progress)
            self.adopt(file, digest)
            return digest

    def adopt(self, file: NewFile, digest: str) -> None:
        """Make a finished file the blob of that digest, unless there is one already."""
        try:
            self.touch(digest)
        except BlobNotFound:
            with as_store_error(f"cannot write {self._layout.blob(digest)}"):
                file.commit(self._layout.blob(digest))
        else:
            file.discard()

    def take(self, path: Path, digest: str) -> bool:
        """Make a file of this disk, whose content is known to be right and synced, the blob of that digest.

        The file moves; False if the blob was there already, so that the file was removed, or if someone else
        who had the same file moved it. A blob of another size is damaged, and gives way.
        """
        with as_store_error(f"cannot make {path} a blob"):
            make_folder(self._layout.blobs)
            if not path.exists() and self.has(digest):
                return False
            if not self.has(digest) or self.size(digest) != path.stat().st_size:
                os.chmod(path, FILE_MODE)
                os.utime(path)
                os.replace(path, self._layout.blob(digest))
                sync_folder(self._layout.blobs)
                return True
            path.unlink()
        self.touch(digest)
        return False

    def touch(self, digest: str) -> None:
        """Say that the blob is in use. One with other names belongs to someone else too and is left alone."""
        with self.using(digest) as path:
            if path.stat().st_nlink == 1:
                with suppress(PermissionError):  # a blob of another user can be used all the same
                    os.utime(path)

    def remove(self, digest: str) -> None:
        """Remove the name; a linked file keeps its other ones."""
        with as_store_error(f"cannot remove {self._layout.blob(digest)}"):
            self._layout.blob(digest).unlink(missing_ok=True)

    def remove_abandoned(self) -> list[str]:
        return remove_abandoned(self._layout.blobs, TEMPORARY_PREFIX)

    def files(self) -> list[BlobFile]:
        """All regular files and links in the folder, unfinished ones and strangers too."""
        folder = self._layout.blobs
        if not folder.is_dir():
            return []
        with as_store_error(f"cannot list {folder}"), os.scandir(folder) as entries:
            found = [_blob_file(entry) for entry in entries if not entry.is_dir(follow_symlinks=False)]
        return [file for file in found if file is not None]


def _blob_file(entry: os.DirEntry[str]) -> BlobFile | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # an unfinished one may go at any time
        return None
    return BlobFile(entry.name, digest_of_blob(entry.name), status.st_size, status.st_mtime_ns)


class BlobWriter:
    """One blob on its way in. Blocking; fit to be called from a thread, one call at a time."""

    def __init__(self, blobs: Blobs, file: NewFile) -> None:
        self._blobs = blobs
        self._file = file
        self._hash = hashlib.sha256()

    def __enter__(self) -> "BlobWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Raises StoreError, for instance on a full disk."""
        self._hash.update(data)
        with as_store_error(f"cannot write to {self._file.path.parent}"):
            self._file.write(data)

    def finish(self, expected: str | None = None) -> str:
        """Store what was written; return its digest.

        Raises DigestMismatch if `expected` is another text; the content stays, under its true digest.
        """
        digest = "sha256:" + self._hash.hexdigest()
        self._blobs.adopt(self._file, digest)
        if expected is not None and expected != digest:
            raise DigestMismatch(expected, digest)
        return digest

    def abort(self) -> None:
        """Forget everything, unless it was finished."""
        self._file.discard()


def hash_file(descriptor: int, progress: Progress | None = None) -> str:
    """The digest of an open file, read once from its start."""
    return "sha256:" + _hashed(descriptor, progress, None).hexdigest()


def copy_and_hash(descriptor: int, target: NewFile, progress: Progress | None = None) -> str:
    """Copy an open file, reading it once; return its digest."""
    return "sha256:" + _hashed(descriptor, progress, target).hexdigest()


def _hashed(descriptor: int, progress: Progress | None, target: NewFile | None) -> "hashlib._Hash":
    total, done, told = os.fstat(descriptor).st_size, 0, 0
    digest = hashlib.sha256()
    for chunk in _chunks(descriptor, total):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
        done += len(chunk)
        if progress is not None and (done - told >= _TOLD_EVERY_BYTES or done == total):
            progress(done, total)
            told = done
    return digest


def _chunks(descriptor: int, size: int) -> Iterator[memoryview]:
    """The first `size` bytes in pieces that share one buffer: each is void when the next one comes.

    No further, because a file that someone appends to would have no end.
    """
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        file.seek(0)
        while size > 0 and (count := file.readinto(buffer[:size])):
            yield buffer[:count]
            size -= count
