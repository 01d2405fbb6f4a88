"""Writes an archive of models to a stream: see `mirrors.archive` for what is in it, and in which order."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from mirrors.archive import INDEX, Index
from mirrors.archive_headers import BLOCK, FILE, Entry, make_header
from mirrors.errors import BadArchive

_CHUNK = 1 << 20
_RECORD = 10240  # what tar programs fill up to


class Sink(Protocol):
    """Takes all bytes that it is given."""

    def write(self, data: bytes, /) -> object: ...


def write_archive(
    stream: Sink,
    index: Index,
    manifests: Mapping[str, bytes],
    path_of: Callable[[str], Path],
    progress: Callable[[int], None],
) -> None:
    """`path_of` finds a blob's file; `progress` gets the number of blobs' bytes written so far.

    BadArchive if a blob is not what its digest says: the archive is then not to be used.
    """
    written = _put(stream, INDEX, index.encode())
    for name in index.models:
        written += _put(stream, f"manifests/{name}", manifests[name])
    done = 0
    for digest, size in index.blobs.items():
        header = make_header(f"blobs/{digest.replace(':', '-')}", size)
        stream.write(header)
        for chunk_size in _copy(stream, path_of(digest), digest, size):
            done += chunk_size
            progress(done)
        padding = Entry("", FILE, size).padding
        stream.write(bytes(padding))
        written += len(header) + size + padding
    end = 2 * BLOCK
    stream.write(bytes(end + -(written + end) % _RECORD))


def archive_size(index: Index, manifests: Mapping[str, bytes]) -> int:
    """At least so many bytes, and a few kilobytes more at most."""
    small = len(index.encode()) + sum(len(manifests[name]) + 4 * BLOCK for name in index.models)
    return small + sum(size + 2 * BLOCK for size in index.blobs.values()) + _RECORD


def _put(stream: Sink, name: str, data: bytes) -> int:
    header, padding = make_header(name, len(data)), Entry(name, FILE, len(data)).padding
    stream.write(header + data + bytes(padding))
    return len(header) + len(data) + padding


def _copy(stream: Sink, path: Path, digest: str, size: int) -> Iterator[int]:
    found, left = hashlib.sha256(), size
    with open(path, "rb", buffering=0) as file:
        while left and (chunk := file.read(min(left, _CHUNK))):
            found.update(chunk)
            stream.write(chunk)
            left -= len(chunk)
            yield len(chunk)
    if left or f"sha256:{found.hexdigest()}" != digest:
        raise BadArchive(f"{path} is damaged: its content is not what its name says; pull the model again")
