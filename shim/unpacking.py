"""An archive of models into the store: see `mirrors.archive_reading`, which judges it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import BinaryIO

from mirrors.archive import Index
from mirrors.archive_reading import read_archive
from mirrors.errors import BadArchive
from mirrors.manifest import read_manifest
from modelfiles.errors import InvalidName
from modelfiles.names import Name, name_from_path
from modelfiles.store import Store
from shim.importing import Item, Progress, name_state, publish

_RESERVE_BYTES = 64 << 20
_SHOWN = 8


def unpack(
    store: Store, stream: BinaryIO, progress: Progress, *, replaces: bool = False, dry: bool = False
) -> list[Item]:
    """Everything in the archive; with `dry`, only what would happen. BadArchive and StoreError.

    Blobs that came whole before an error stay, and are not written again by the next run.
    """
    receiver = _Receiver(store, progress, replaces=replaces, dry=dry)
    try:
        read_archive(stream, receiver)
    except _Enough:
        return receiver.items
    for item in receiver.items:
        if item.outcome == "new" and item.name is not None:
            data = receiver.manifests[item.name]
            publish(store, item.name, data, [blob.digest for blob in read_manifest(data, item.what)])
    return receiver.items


class _Enough(Exception):
    """The index and the manifests are all that is asked for."""


class _Receiver:
    def __init__(self, store: Store, progress: Progress, *, replaces: bool, dry: bool) -> None:
        self.items: list[Item] = []
        self.manifests: dict[Name, bytes] = {}
        self._store = store
        self._progress = progress
        self._replaces = replaces
        self._dry = dry

    def begin(self, index: Index, manifests: dict[str, bytes]) -> None:
        for path, data in manifests.items():
            try:
                name = self._store.resolve(name_from_path(path))
            except InvalidName as error:
                raise BadArchive(f"the archive holds a model with a bad name: {path}") from error
            if name in self.manifests:
                raise BadArchive(f"the archive holds {name.display} twice")
            self.manifests[name] = data
            size = sum(blob.size or 0 for blob in read_manifest(data, path))
            outcome, detail = name_state(self._store, name, data, replaces=self._replaces)
            self.items.append(Item(name.display, "archive", size, outcome, detail, name))
        self._check(index)
        if self._dry:
            raise _Enough

    def blob(self, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        if self._store.blob_size(digest) == size:
            self._store.use_blob(digest, "")
            return
        self._store.drop_damaged(digest, size)
        with self._store.open_blob_writer() as writer:
            done = 0
            for chunk in chunks:
                writer.write(chunk)
                done += len(chunk)
                self._progress(digest[7:19], done, size)
            writer.finish(digest)

    def _check(self, index: Index) -> None:
        """That what the archive left out is here, and that there is room for the rest."""
        absent = [digest for digest in index.left_out if not self._store.has_blob(digest)]
        if absent:
            raise BadArchive(
                f"the archive was made for a machine that has {len(absent)} blobs which are not here: "
                f"{', '.join(absent[:_SHOWN])}; export the models without --since and --have"
            )
        needed = sum(
            size for digest, size in index.blobs.items() if self._store.blob_size(digest) != size
        )
        folder = self._store.root
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if needed and needed + _RESERVE_BYTES > free:
            raise BadArchive(f"no space left on device: {needed} bytes are needed, and {folder} has {free}")
