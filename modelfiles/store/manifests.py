"""Manifests on disk: which names there are, and what each stands for.

Names keep the spelling that they were made with, and are found in any other. A file or folder that leads
out of the manifests folder is no part of it. Knows nothing of blobs.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from modelfiles.errors import InvalidName, ModelNotFound, StoreError
from modelfiles.names import Name, equal_fold, name_from_path
from modelfiles.store.durable import NewFile, as_store_error, make_folder, remove_abandoned, sync_folder
from modelfiles.store.paths import Layout

# In the manifests folder itself, where no manifest lies and none is looked for
_PREFIX = ".new-"
_LEVELS = 4
_MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The bytes of a manifest and when they were written."""

    data: bytes
    modified_ns: int


class Manifests:
    """The manifests folder of a store."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def names(self) -> list[Name]:
        """All names, sorted by their paths."""
        base = self._layout.manifests
        found = []
        for path in sorted(_files(base, os.path.realpath(base), _LEVELS)):
            with suppress(InvalidName):
                found.append(name_from_path(os.path.relpath(path, base).replace(os.sep, "/")))
        return found

    def resolve(self, name: Name) -> Name:
        """The name in the spelling that the store uses: each part as it is found in any manifest."""
        host, namespace, model, tag = name.host, name.namespace, name.model, name.tag
        for known in self.names():
            host = _spelling(host, known.host)
            namespace = _spelling(namespace, known.namespace)
            model = _spelling(model, known.model)
            tag = _spelling(tag, known.tag)
        return Name(host, namespace, model, tag, name.scheme)

    def find(self, name: Name) -> Name | None:
        """The name as it is stored, or None."""
        if self._path(name).is_file():
            return name
        return next((known for known in self.names() if equal_fold(known, name)), None)

    def read(self, name: Name) -> ManifestFile:
        """Raises ModelNotFound and StoreError. The spelling must be the stored one."""
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                data, modified_ns = file.read(_MAX_BYTES + 1), os.fstat(file.fileno()).st_mtime_ns
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise ModelNotFound(name.display) from None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        if len(data) > _MAX_BYTES:
            raise StoreError(f"{path} is too large to be a manifest")
        return ManifestFile(data, modified_ns)

    def write(self, name: Name, data: bytes) -> None:
        """Raises StoreError."""
        path = self._path(name)
        with as_store_error(f"cannot write {path}"):
            make_folder(self._layout.manifests)
            self.remove_abandoned()
            with NewFile(self._layout.manifests, _PREFIX) as file:
                file.write(data)
                make_folder(path.parent)
                file.commit(path)

    def remove(self, name: Name) -> None:
        """Remove the manifest and the folders that it leaves empty. Raises ModelNotFound."""
        path = self._path(name)
        with as_store_error(f"cannot remove {path}"):
            try:
                path.unlink()
            except FileNotFoundError:
                raise ModelNotFound(name.display) from None
            sync_folder(path.parent)
            _remove_empty(path.parent, self._layout.manifests)

    def remove_abandoned(self) -> list[str]:
        return remove_abandoned(self._layout.manifests, _PREFIX)

    def remove_empty_folders(self) -> None:
        base = self._layout.manifests
        for folder, _, _ in os.walk(base, topdown=False):
            if folder != str(base):
                with suppress(OSError):
                    os.rmdir(folder)

    def _path(self, name: Name) -> Path:
        """Raises StoreError where a link on the way leads out of the manifests folder."""
        path, base = self._layout.manifest(name), os.path.realpath(self._layout.manifests)
        if not _is_inside(os.path.realpath(path.parent), base):
            raise StoreError(f"{path.parent} is a link that leads out of {base}")
        return path


def _spelling(part: str, known: str) -> str:
    return known if part.lower() == known.lower() else part


def _files(folder: Path | str, base: str, levels: int) -> Iterator[str]:
    """Paths exactly `levels` below, without those that a link leads out of `base`."""
    try:
        with os.scandir(folder) as entries:
            inside = [
                item for item in entries if not item.is_symlink() or _is_inside(os.path.realpath(item), base)
            ]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for entry in inside:
        if levels == 1 and entry.is_file():
            yield entry.path
        elif levels > 1 and entry.is_dir():
            yield from _files(entry.path, base, levels - 1)


def _is_inside(path: str, base: str) -> bool:
    return path == base or path.startswith(base + os.sep)


def _remove_empty(folder: Path, base: Path) -> None:
    while folder != base:
        try:
            folder.rmdir()
        except OSError:  # not empty: another model lies there
            return
        folder = folder.parent
