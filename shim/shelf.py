"""The store as other machines see it: see `mirrors.serve`, which serves it."""

from __future__ import annotations

from pathlib import Path

from modelfiles.errors import BlobNotFound, InvalidDigest, InvalidName, ModelNotFound, StoreError
from modelfiles.names import DEFAULT_HOST, Name, parse_name
from modelfiles.store import Store


class StoreShelf:
    """`mirrors.serve.Shelf` over a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def manifest(self, namespace: str, model: str, tag: str) -> bytes | None:
        """Of the registry's own models first, then of any other host's with these names."""
        for name in self._names(namespace, model, tag):
            try:
                return self._store.manifest_bytes(name)
            except (ModelNotFound, StoreError):
                continue
        return None

    def blob(self, digest: str) -> Path | None:
        """A linked file that was changed is not served: its digest would be a lie."""
        try:
            self._store.verify_linked(digest)
            return self._store.blob_path(digest)
        except (BlobNotFound, InvalidDigest, StoreError):
            return None

    def _names(self, namespace: str, model: str, tag: str) -> list[Name]:
        try:
            asked = parse_name(f"{DEFAULT_HOST}/{namespace}/{model}:{tag}")
        except InvalidName:
            return []
        wanted = _without_host(asked)
        found = [name for name in self._store.names() if _without_host(name) == wanted]
        return sorted(found, key=lambda name: (name.host != DEFAULT_HOST, name.host))


def _without_host(name: Name) -> tuple[str, str, str]:
    return name.namespace.lower(), name.model.lower(), name.tag.lower()
