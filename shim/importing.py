"""Brings models that are on disk into the store: what would happen, and then that.

Works without a server, and a running one sees the result. Nothing of the user's is moved, changed or removed;
every file is hashed before it is a blob, and a model has no name before all of it is there. Stopped at any
point, the next run goes on: what was hashed is not hashed again. Blocking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mirrors.errors import MirrorsError
from mirrors.imports.found import Found, FoundFile, FoundManifest, FoundModel
from mirrors.imports.naming import plain
from modelfiles.create import CreateRequest, create
from modelfiles.errors import BlobNotFound, CreateError, ModelfilesError, ModelNotFound, StoreError
from modelfiles.gguf import read_gguf
from modelfiles.gguf.types import UNKNOWN_FILE_TYPE
from modelfiles.names import Name, name_from_path, parse_name
from modelfiles.store import Store
from shim.texts_beside import request_of

# A file's path, bytes done, bytes in all
Progress = Callable[[str, int, int], None]
Outcome = Literal["new", "there", "skipped", "failed"]

_ATTEMPTS = 3
_LARGEST_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Item:
    """One model, or one thing that is none (without `name`): what will happen to it, or has."""

    what: str
    layout: str
    size: int
    outcome: Outcome
    detail: str = ""
    name: Name | None = None
    source: FoundModel | FoundManifest | None = None


class Import:
    """One run. With `replaces`, a name that stands for another model is given to the imported one."""

    def __init__(self, store: Store, *, replaces: bool = False, name: Name | None = None) -> None:
        self._store = store
        self._replaces = replaces
        self._name = name
        self._given: set[str] = set()

    def plan(self, found: Found) -> list[Item]:
        """What would happen. Reads headers, stores nothing."""
        items = [self._guarded(self._plan_model, model) for model in found.models]
        items += [self._guarded(self._plan_manifest, manifest) for manifest in found.manifests]
        return items + [Item(skip.what, "", 0, "skipped", skip.reason) for skip in found.skipped]

    def carry_out(self, item: Item, progress: Progress) -> Item:
        """Do what was planned. What goes wrong is told by the item that comes back."""
        if item.outcome != "new":
            return item
        try:
            if isinstance(item.source, FoundManifest):
                return self._take_manifest(item, item.source, progress)
            if isinstance(item.source, FoundModel):
                return self._take_model(item, item.source, progress)
        except (ModelfilesError, MirrorsError, OSError) as error:
            return replace(item, outcome="failed", detail=_words(error))
        return item

    def _guarded(self, plan: Callable[..., Item], source: FoundModel | FoundManifest) -> Item:
        try:
            return plan(source)
        except (ModelfilesError, OSError) as error:
            what = source.name if isinstance(source, FoundManifest) else str(source.files[0].path)
            return Item(what, _layout(source), source.size, "failed", _words(error))

    # Models of another store

    def _plan_manifest(self, manifest: FoundManifest) -> Item:
        name = self._name or self._store.resolve(name_from_path(manifest.name))
        outcome, detail = name_state(self._store, name, manifest.data, replaces=self._replaces)
        if outcome == "new":
            detail = self._how(manifest.blobs)
        return Item(name.display, _layout(manifest), manifest.size, outcome, detail, name, manifest)

    def _take_manifest(self, item: Item, manifest: FoundManifest, progress: Progress) -> Item:
        for blob in sorted(manifest.blobs, key=lambda blob: blob.size):
            if self._store.blob_size(blob.digest) != blob.size:
                self._store.drop_damaged(blob.digest, blob.size)
                self._link(blob, progress)
        if item.name is not None:
            publish(self._store, item.name, manifest.data, [blob.digest for blob in manifest.blobs])
        return item

    # Models that are files

    def _plan_model(self, model: FoundModel) -> Item:
        headers = [read_gguf(file.path) for file in model.files]
        described = str(headers[0].metadata.get("general.name", ""))
        base = model.name or plain(described.lower()) or "imported"
        quantisation = "" if headers[0].file_type == UNKNOWN_FILE_TYPE else headers[0].file_type
        tag = plain(model.tag or quantisation) or "latest"
        name = self._name or self._store.resolve(parse_name(f"{base}:{tag}"))
        name, same_size = self._free_name(name, [file.size for file in model.files])
        detail = "seems to be there already" if same_size else self._how(model.files)
        return Item(name.display, model.layout, model.size, "new", detail, name, model)

    def _free_name(self, wanted: Name, sizes: Sequence[int]) -> tuple[Name, bool]:
        """The name, with a number if it means something else; and whether it means files of these sizes.

        The content is compared when the files are hashed.
        """
        name, number = wanted, 1
        while True:
            stored = None if self._replaces else self._weights(name)
            if name.full.lower() not in self._given and (stored is None or stored == sorted(sizes)):
                self._given.add(name.full.lower())
                return name, stored is not None
            number += 1
            name = replace(wanted, tag=f"{wanted.tag[:76]}-{number}")

    def _weights(self, name: Name) -> list[int] | None:
        try:
            manifest = self._store.manifest(name)
        except ModelNotFound:
            return None
        except StoreError:
            return None  # damaged, and made anew
        return sorted(layer.size for layer in manifest.layers if layer.kind in ("model", "projector"))

    def _take_model(self, item: Item, model: FoundModel, progress: Progress) -> Item:
        files = {file.path.name: self._link(file, progress) for file in model.files}
        name = item.name
        while name is not None and not self._replaces and (stored := self._digests(name)) is not None:
            if stored >= set(files.values()):
                return replace(item, what=name.display, outcome="there", detail="", name=name)
            name, _ = self._free_name(name, [-1])  # the same size, and another content
        if name is not None:
            create(self._store, _request(name, model, files), lambda step: None)
            return replace(item, what=name.display, name=name)
        return item

    def _digests(self, name: Name) -> set[str] | None:
        try:
            return set(self._store.manifest(name).digests)
        except (ModelNotFound, StoreError):
            return None

    def _link(self, file: FoundFile, progress: Progress) -> str:
        digest = self._store.link_file(
            file.path, lambda done, total: progress(str(file.path), done, total)
        ).digest
        if file.digest not in ("", digest):
            raise StoreError(f"{file.path} is damaged: it should be {file.digest}, but is {digest}")
        return digest

    def _how(self, files: Sequence[FoundFile]) -> str:
        """What it costs on the disk."""
        folder = self._store.root
        while not folder.exists():
            folder = folder.parent
        device = folder.stat().st_dev
        missing = [file for file in files if not file.digest or not self._store.has_blob(file.digest)]
        copied = sum(file.size for file in missing if file.path.stat().st_dev != device)
        return f"copies {copied} bytes" if copied else "shares its bytes"


def name_state(store: Store, name: Name, manifest: bytes, *, replaces: bool) -> tuple[Outcome, str]:
    """Whether a name is free for this manifest, means it already, or means something else."""
    try:
        stored = store.manifest_bytes(name)
        complete = all(store.has_blob(digest) for digest in store.manifest(name).digests)
    except (ModelNotFound, StoreError):
        return "new", ""
    if stored == manifest and complete:
        return "there", ""
    if stored == manifest or replaces:
        return "new", ""
    return "skipped", "the name means another model here; --replace gives it to this one"


def publish(store: Store, name: Name, manifest: bytes, digests: Sequence[str]) -> None:
    """Give the name, when all blobs are there. StoreError if someone else removes them again and again."""
    for _ in range(_ATTEMPTS):
        for digest in digests:
            store.use_blob(digest, "")
        try:
            store.write_manifest(name, manifest)
        except BlobNotFound:
            continue
        return
    raise StoreError(f"blobs of {name.display} are removed by someone else while it is imported; try again")


def _layout(source: FoundModel | FoundManifest) -> str:
    return source.layout if isinstance(source, FoundModel) else "store"


def _request(name: Name, model: FoundModel, files: dict[str, str]) -> CreateRequest:
    texts = [(kind, _text(path)) for kind, path in model.texts]
    try:
        return request_of(name, files, texts)
    except ValueError as error:
        raise CreateError(f"the file params beside it {error}") from error


def _text(path: Path) -> str:
    with open(path, "rb") as file:
        data = file.read(_LARGEST_TEXT + 1)
    if len(data) > _LARGEST_TEXT:
        raise CreateError(f"{path} is too large to be text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CreateError(f"{path} is not text in UTF-8") from error


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot read {error.filename}: {error.strerror}"
    return str(error)
