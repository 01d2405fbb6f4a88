"""The store of models on disk, in Ollama's layout: either program lists and runs what the other one made.

Safe for several processes at once: new content appears whole or not at all, and names are changed under a
lock, so that nobody removes a blob which another one is giving a name to. Never writes unless asked to, so
a store that may only be read can be listed and run. All methods block.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from modelfiles.errors import BlobNotFound, ModelfilesError, ModelNotFound, StoreError
from modelfiles.names import Name
from modelfiles.package import LAYER_TYPE, Layer, Manifest, Package, parse_manifest
from modelfiles.store.blobs import Blobs, BlobWriter, Progress
from modelfiles.store.durable import as_store_error, locked
from modelfiles.store.linking import Linker
from modelfiles.store.loading import load_package
from modelfiles.store.manifests import Manifests
from modelfiles.store.parts import Parts
from modelfiles.store.paths import Layout, new_blob_name
from modelfiles.store.records import Records
from modelfiles.store.unused import HOUR_NS, PruneReport, orphans, prunable

__all__ = ["BlobWriter", "Progress", "PruneReport", "Store"]


class Store:
    """A store at `root`, which need not exist yet. With `noprune`, overwriting a model removes no blob."""

    def __init__(
        self, root: Path, *, noprune: bool = False, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self.root = root
        self._layout = Layout(root)
        self._noprune = noprune
        self._now_ns = now_ns
        self._blobs = Blobs(self._layout)
        self._manifests = Manifests(self._layout)
        self._records = Records(self._layout)
        self._parts = Parts(self._layout)
        self._linker = Linker(self._layout, self._blobs, self._records, now_ns)

    # Names and packages

    def names(self) -> list[Name]:
        """Every name with a manifest, readable or not."""
        return self._manifests.names()

    def resolve(self, name: Name) -> Name:
        """The name in the store's own spelling: each part as any manifest has it."""
        return self._manifests.resolve(name)

    def load(self, name: Name) -> Package:
        """The package of that name, in any spelling. Raises ModelNotFound; StoreError if it is damaged."""
        stored = self._found(name)
        file = self._manifests.read(stored)
        while True:
            try:
                return load_package(stored, file, self._blobs)
            except BlobNotFound as error:
                # Made anew meanwhile, so that the old blobs are gone? Then the new ones are there.
                read, file = file, self._manifests.read(stored)
                if file == read:
                    raise StoreError(f"model '{stored.display}' is incomplete: {error}") from error

    def packages(self) -> list[Package]:
        """All packages that can be read; damaged ones are left out."""
        found = []
        for name in self.names():
            with suppress(ModelfilesError):
                found.append(self.load(name))
        return found

    def manifest_bytes(self, name: Name) -> bytes:
        """A manifest as it is. Raises ModelNotFound. The name must be in the store's spelling."""
        return self._manifests.read(name).data

    def manifest(self, name: Name) -> Manifest:
        """Raises ModelNotFound and StoreError. The name must be in the store's spelling."""
        return parse_manifest(self._manifests.read(name).data)

    # Blobs

    def has_blob(self, digest: str) -> bool:
        """Raises InvalidDigest."""
        return self._blobs.has(digest)

    def blob_path(self, digest: str) -> Path:
        """Raises InvalidDigest and BlobNotFound."""
        return self._blobs.path(digest)

    def using_blob(self, digest: str) -> AbstractContextManager[Path]:
        """The blob's path, to be opened at once; inside, that others removed it is BlobNotFound too."""
        return self._blobs.using(digest)

    def engine_path(self, digests: Sequence[str]) -> Path:
        """What to tell an engine that is to open these weights: the blob, or the first part of several.

        The parts of a split model, in order, get names from which an engine finds the others. BlobNotFound
        and StoreError.
        """
        paths = [self._blobs.path(digest) for digest in digests]
        return paths[0] if len(paths) == 1 else self._parts.path(digests)

    def read_blob(self, digest: str) -> bytes:
        """A small blob's content. Raises BlobNotFound, and StoreError where it is too large to be text."""
        return self._blobs.read_small(digest)

    def write_blob(self, chunks: Iterable[bytes], digest: str | None = None) -> str:
        """Store content and return its digest. Raises DigestMismatch; the content stays all the same."""
        return self._blobs.write(chunks, digest)

    def make_blob(self, write: Callable[[Path], None], progress: Progress | None = None) -> str:
        """A blob that others write: `write` gets the path of an empty file to fill. Its digest.

        The file is gone if `write` raises. It counts as finished when `write` returns.
        """
        return self._blobs.make(write, progress)

    def open_blob_writer(self) -> BlobWriter:
        """A blob whose content comes bit by bit: `write`, then `finish` or `abort`."""
        return self._blobs.writer()

    def take_file(self, path: Path, digest: str) -> None:
        """Make a file of the same disk a blob by moving it. Its content must have been proven and synced."""
        with self._locked():
            if self._blobs.take(path, digest):
                self._records.drop(digest)  # of a file that had the name and was damaged

    def drop_damaged(self, digest: str, size: int) -> None:
        """Remove a blob that has not the size which its digest's content has, so that it can come anew."""
        with self._locked():
            if self.blob_size(digest) not in (None, size):
                self._blobs.remove(digest)
                self._records.drop(digest)

    def blob_size(self, digest: str) -> int | None:
        """None if there is no such blob."""
        try:
            return self._blobs.size(digest)
        except BlobNotFound:
            return None

    def use_blob(self, digest: str, media_type: str, *, from_: str = "", name: str = "") -> Layer:
        """A layer of a blob that is there, which thereby counts as used. Raises BlobNotFound."""
        self._linker.use(digest)
        return Layer(media_type, digest, self._blobs.size(digest), from_, name)

    def link_file(self, path: Path, progress: Progress | None = None) -> Layer:
        """Bring weights in without copying them, where possible; the file is read once, to be hashed.

        Raises BadGGUF for a damaged GGUF and StoreError for what cannot be read or does not fit.
        """
        digest = self._linker.link(path, progress)
        return Layer(LAYER_TYPE + "model", digest, self._blobs.size(digest))

    def verify_linked(self, digest: str, progress: Progress | None = None) -> None:
        """Raise StoreError, naming the file, if a linked file was changed since it was hashed."""
        self._linker.verify(digest, progress)

    # Changes of names

    def write_manifest(self, name: Name, data: bytes) -> None:
        """Give a name to a manifest, whose blobs must all be there; remove what only its predecessor needed.

        The name must be in the store's spelling, see `resolve`. Raises BlobNotFound and StoreError.
        """
        manifest = parse_manifest(data)
        with self._locked():
            for digest in manifest.digests:
                self._blobs.path(digest)
            previous = self._readable(name)
            self._manifests.write(name, data)
            if previous is not None and not self._noprune:
                self._remove_orphans(previous)

    def copy(self, source: Name, destination: Name) -> None:
        """Give a model a further name, replacing what had it. Raises ModelNotFound."""
        with self._locked():
            found = self._found(source)
            target = self.resolve(destination)
            if found == target:
                return
            previous = self._readable(target)
            self._manifests.write(target, self._manifests.read(found).data)
            if previous is not None and not self._noprune:
                self._remove_orphans(previous)

    def delete(self, name: Name) -> None:
        """Remove a model and the blobs that no other one needs. Raises ModelNotFound."""
        with self._locked():
            found = self._found(name)
            previous = self._readable(found)
            self._manifests.remove(found)
            if previous is not None:
                self._remove_orphans(previous)

    def prune(self, *, age_ns: int = HOUR_NS) -> PruneReport:
        """Remove what no model needs and nobody touched within `age_ns`; nothing if a manifest is damaged."""
        with self._locked():
            abandoned = self.remove_abandoned()
            try:
                manifests = [self.manifest(name) for name in self.names()]
            except ModelfilesError as error:
                return PruneReport(tuple(abandoned), f"a manifest cannot be read: {error}")
            doomed = prunable(self._blobs.files(), manifests, self._used_ns, self._now_ns(), age_ns)
            for file in doomed:
                with as_store_error(f"cannot remove {file.name}"):
                    (self._layout.blobs / file.name).unlink(missing_ok=True)
                if file.digest is not None:
                    self._records.drop(file.digest)
            self._manifests.remove_empty_folders()
            self._parts.sweep()
            return PruneReport((*abandoned, *(file.name for file in doomed)))

    def remove_abandoned(self) -> list[str]:
        """Remove what processes that were killed left half-written; return the names of these files.

        Happens by itself whenever something is written to the same folder. Blobs of a very old store get the
        names that they have today.
        """
        self._rename_old_blobs()
        return [
            *self._blobs.remove_abandoned(),
            *self._manifests.remove_abandoned(),
            *self._records.remove_abandoned(),
        ]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with ExitStack() as stack:
            with as_store_error(f"cannot lock {self._layout.lock}"):
                stack.enter_context(locked(self._layout.lock))
            yield

    def _found(self, name: Name) -> Name:
        found = self._manifests.find(name)
        if found is None:
            raise ModelNotFound(name.display)
        return found

    def _readable(self, name: Name) -> Manifest | None:
        """The manifest, or None if there is none or nobody can tell what it needs."""
        try:
            return self.manifest(name)
        except (ModelNotFound, StoreError):
            return None

    def _remove_orphans(self, previous: Manifest) -> None:
        others = [manifest for name in self.names() if (manifest := self._readable(name)) is not None]
        for digest in orphans(previous, others):
            self._blobs.remove(digest)
            self._records.drop(digest)
        self._parts.sweep()

    def _used_ns(self, digest: str) -> int:
        record = self._records.get(digest)
        return 0 if record is None else record.used_ns

    def _rename_old_blobs(self) -> None:
        for file in self._blobs.files():
            new_name = new_blob_name(file.name)
            if new_name is not None:
                os.rename(self._layout.blobs / file.name, self._layout.blobs / new_name)
