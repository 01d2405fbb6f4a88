"""Packs models of the store into archives, for machines without a network. Blocking."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirrors.archive import Index, digests_in, make_index
from mirrors.archive_writing import Sink, archive_size, write_archive
from mirrors.errors import BadArchive
from modelfiles.errors import BlobNotFound, StoreError
from modelfiles.names import Name, parse_name
from modelfiles.store import Store
from modelfiles.store.durable import NewFile, as_store_error

_PREFIX = ".shim-export-"
_LARGEST_LIST = 64 << 20
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Export:
    """What goes into an archive."""

    index: Index
    manifests: dict[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of all blobs that go into it."""
        return sum(self.index.blobs.values())


def plan_export(store: Store, names: Sequence[str], have: frozenset[str] = frozenset()) -> Export:
    """The models by these names. ModelNotFound, InvalidName, and StoreError for what is incomplete."""
    manifests: dict[str, bytes] = {}
    sizes: dict[str, int] = {}
    for text in names:
        name: Name = store.resolve(parse_name(text))
        manifests[name.path] = store.manifest_bytes(name)
        for digest in store.manifest(name).digests:
            size = store.blob_size(digest)
            if size is None:
                raise StoreError(f"model '{name.display}' is incomplete: {digest} is missing; pull it again")
            if digest not in have:
                store.verify_linked(digest)
            sizes[digest] = size
    return Export(make_index(manifests, sizes, have), manifests)


def write_export(store: Store, export: Export, sink: Sink, progress: Callable[[int, int], None]) -> None:
    """Write to a pipe or a file in the making. BadArchive for a damaged blob, StoreError."""
    try:
        write_archive(
            sink, export.index, export.manifests, store.blob_path, lambda done: progress(done, export.size)
        )
    except BlobNotFound as error:
        raise StoreError(f"a model was removed while it was exported: {error}") from error


def save_export(store: Store, export: Export, target: Path, progress: Callable[[int, int], None]) -> None:
    """Write a file that has its name only when it is whole. StoreError, also where there is no room."""
    folder = target.resolve().parent
    with as_store_error(f"cannot write {target}"):
        if not folder.is_dir():
            raise StoreError(f"cannot write {target}: there is no folder {folder}")
        needed, free = archive_size(export.index, export.manifests), shutil.disk_usage(folder).free
        if needed > free:
            raise StoreError(f"no space left on device: {needed} bytes are needed, and {folder} has {free}")
        with NewFile(folder, _PREFIX) as file:
            write_export(store, export, file, progress)
            file.commit(folder / target.name)


def digests_of_file(path: Path) -> frozenset[str]:
    """What the receiver has: an index.json, an archive made earlier, or a list of digests or blobs' names."""
    with as_store_error(f"cannot read {path}"), open(path, "rb") as file:
        start = file.read(_LARGEST_LIST)
    if start.startswith(b"index.json\0"):  # an archive: what matters stands at its start
        size = int(start[124:135] or b"0", 8)
        start = start[_BLOCK : _BLOCK + size]
    found = digests_in(start.decode("utf-8", "replace"))
    if not found:
        raise BadArchive(f"{path} names no digest; give an archive, its index.json, or a list of blobs")
    return found
