"""Reads an archive of models from a stream, which may be a pipe, and believes nothing that it says.

Nothing is buffered beyond the index and the manifests, whose sizes are bounded; a blob's bytes are hashed as
they pass, and are as many as index and manifest say. Knows nothing of where blobs go.
"""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from mirrors.archive import INDEX, LARGEST_INDEX, LARGEST_MANIFEST, Index, check_models, read_index
from mirrors.archive_headers import BLOCK, FOLDER, LONG_NAME, PAX, Entry, parse_header, with_pax
from mirrors.errors import BadArchive, CutArchive

_CHUNK = 1 << 20
_SHOWN = 8


class Receiver(Protocol):
    """Where an archive's content goes."""

    def begin(self, index: Index, manifests: dict[str, bytes]) -> None:
        """Everything but the blobs; may raise to stop here."""

    def blob(self, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        """One blob. `chunks` raises BadArchive behind its last byte if these were not the right ones.

        What is not taken of it is skipped.
        """


def read_archive(stream: BinaryIO, receiver: Receiver) -> None:
    """Everything in the archive, in its order. BadArchive; CutArchive, with what is missing."""
    _Reader(stream, receiver).read()


class _Reader:
    def __init__(self, stream: BinaryIO, receiver: Receiver) -> None:
        self._stream = stream
        self._receiver = receiver
        self._index: Index | None = None
        self._manifests: dict[str, bytes] = {}
        self._blobs: set[str] = set()
        self._begun = False

    def read(self) -> None:
        while (entry := self._entry()) is not None:
            if entry.kind == FOLDER:
                self._folder(entry)
            elif self._index is None:
                self._read_index(entry)
            else:
                self._file(self._index, entry)
        index = self._index
        if index is None:
            raise BadArchive("the archive is empty")
        self._begin(index)
        missing = [digest for digest in index.blobs if digest not in self._blobs]
        if missing:
            raise CutArchive(f"the archive ends too early: {self._shown(missing)}")

    def _read_index(self, entry: Entry) -> None:
        if entry.name.removeprefix("./") != INDEX or entry.size > LARGEST_INDEX:
            raise BadArchive(
                "this is no archive made by 'shim export': it does not begin with index.json; "
                "if it holds a store of Ollama, unpack it and import the folder"
            )
        self._index = read_index(self._bytes(entry))

    def _file(self, index: Index, entry: Entry) -> None:
        kind, _, rest = entry.name.removeprefix("./").partition("/")
        if kind == "manifests" and rest in index.models and rest not in self._manifests and not self._begun:
            if entry.size > LARGEST_MANIFEST:
                raise BadArchive(f"the manifest of {rest} is said to have {entry.size} bytes")
            self._manifests[rest] = self._bytes(entry)
            return
        digest = rest.replace("sha256-", "sha256:", 1)
        if kind != "blobs" or digest not in index.blobs or ":" in rest or digest in self._blobs:
            raise BadArchive(f"the archive holds {entry.name!r:.200}, which its index does not allow there")
        if entry.size != index.blobs[digest]:
            raise BadArchive(f"{entry.name} has {entry.size} bytes; the index says {index.blobs[digest]}")
        self._begin(index)
        content = self._content(entry)
        self._receiver.blob(digest, entry.size, _checked(content, digest))
        for _ in content:
            pass
        self._exactly(entry.padding)
        self._blobs.add(digest)

    def _begin(self, index: Index) -> None:
        """When all manifests have come."""
        if self._begun:
            return
        missing = [name for name in index.models if name not in self._manifests]
        if missing:
            raise CutArchive(f"the archive lacks manifests: {', '.join(missing[:_SHOWN])}")
        check_models(index, self._manifests)
        self._begun = True
        self._receiver.begin(index, self._manifests)

    def _folder(self, entry: Entry) -> None:
        parts = entry.name.rstrip("/").split("/")
        if entry.size or ".." in parts or parts[0] not in (".", "manifests", "blobs"):
            raise BadArchive(f"the archive holds a folder {entry.name!r:.200}")

    def _entry(self) -> Entry | None:
        """The next one with its long name; None at the end."""
        extra: list[Entry] = []
        records = b""
        long_name = ""
        while True:
            entry = parse_header(self._exactly(BLOCK))
            if entry is None:
                return None
            if entry.kind not in (PAX, LONG_NAME):
                break
            if len(extra) > 1:
                raise BadArchive("the archive is damaged: long headers follow each other")
            extra.append(entry)
            if entry.kind == PAX:
                records = self._bytes(entry)
            else:
                long_name = self._bytes(entry).rstrip(b"\0").decode("utf-8", "replace")
        return with_pax(Entry(long_name or entry.name, entry.kind, entry.size), records)

    def _bytes(self, entry: Entry) -> bytes:
        data = self._exactly(entry.size)
        self._exactly(entry.padding)
        return data

    def _content(self, entry: Entry) -> Iterator[bytes]:
        left = entry.size
        while left:
            chunk = self._exactly(min(left, _CHUNK))
            left -= len(chunk)
            yield chunk

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._stream.read(count - len(data))
            if not more:
                raise CutArchive(f"the archive ends too early: {self._missing()}")
            data = data + more if data else more
        return data

    def _missing(self) -> str:
        if self._index is None:
            return "not even its index is whole"
        return self._shown([digest for digest in self._index.blobs if digest not in self._blobs])

    def _shown(self, digests: list[str]) -> str:
        index = self._index
        if index is None or not digests:
            return "its end is missing"
        size = sum(index.blobs[digest] for digest in digests)
        more = f" and {len(digests) - _SHOWN} more" if len(digests) > _SHOWN else ""
        return f"{len(digests)} blobs ({size} bytes) are missing: {', '.join(digests[:_SHOWN])}{more}"


def _checked(content: Iterator[bytes], digest: str) -> Iterator[bytes]:
    found = hashlib.sha256()
    for chunk in content:
        found.update(chunk)
        yield chunk
    if found.hexdigest() != digest.removeprefix("sha256:"):
        raise BadArchive(f"the archive is damaged: the content of {digest} is another one")
