"""Brings the files of a create request to the server: linked into a store that both share, or uploaded.

A shared store is proved, not assumed: the server must see a blob of random bytes that was put there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from modelfiles.errors import ModelfilesError
from modelfiles.gguf import read_gguf
from modelfiles.store.blobs import hash_file
from shim.cli.client import Client
from shim.cli.progress import Progress

if TYPE_CHECKING:
    from modelfiles.store import Store

_NONCE_BYTES = 32
_GGUF_MAGIC = b"GGUF"


class BlobSender:
    """Sends files to one server. `store` is the store that both share, None if there is none."""

    def __init__(self, client: Client, store: Store | None, progress: Progress) -> None:
        self._client = client
        self._store = store
        self._progress = progress

    def send(self, path: Path) -> str:
        """Return the digest of a file that the server then has; it is read once, twice for an upload.

        Raises BadGGUF for a damaged GGUF, before anything is stored or sent.
        """
        if self._store is not None:
            return self._store.link_file(path, lambda done, total: self._hashing(path, done, total)).digest
        with path.open("rb") as file:
            if file.read(len(_GGUF_MAGIC)) == _GGUF_MAGIC:
                read_gguf(path)
            digest = hash_file(file.fileno(), lambda done, total: self._hashing(path, done, total))
        self._upload(path, digest)
        return digest

    def _hashing(self, path: Path, done: int, total: int) -> None:
        self._progress.bar(f"hash {path}", f"reading {path.name}", done, total)

    def _upload(self, path: Path, digest: str) -> None:
        target = f"/api/blobs/{digest}"
        if self._client.exists(target):
            return
        size = path.stat().st_size
        with path.open("rb") as file:
            self._client.upload(target, _Watched(file, self._progress, f"uploading {path.name}", size), size)


class _Watched:
    """A file that reports how far it was read."""

    def __init__(self, file: BinaryIO, progress: Progress, label: str, total: int) -> None:
        self._file = file
        self._progress = progress
        self._label = label
        self._total = total
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._done += len(data)
        self._progress.bar(self._label, self._label, self._done, self._total)
        return data


def shared_store(client: Client, root: Path) -> Store | None:
    """The store at `root` if we may write to it and the server reads from it."""
    if not client.is_local or not root.is_dir():
        return None
    from modelfiles.store import Store

    store = Store(root)
    try:
        digest = store.write_blob([os.urandom(_NONCE_BYTES)])
    except ModelfilesError:
        return None  # we may not write there: whatever the server reads, the files have to be sent
    try:
        return store if client.exists(f"/api/blobs/{digest}") else None
    finally:
        with suppress(ModelfilesError, OSError):
            store.blob_path(digest).unlink()
