"""Pushes: a model of the store to a registry, as one stream of progress. Knows no dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from mirrors.asking import Web
from mirrors.errors import PushFailed
from mirrors.reference import RegistryModel
from mirrors.sites.finding import Sites
from mirrors.sites.registry import Repository
from mirrors.sources import Access
from mirrors.upload import Parcel, Uploader
from modelfiles.errors import InvalidName, ModelNotFound, StoreError
from modelfiles.names import Name, parse_name
from modelfiles.package import Layer, parse_manifest
from modelfiles.store import Store
from shim.bridge import Threads
from shim.errors import bad_request
from shim.transfers import PullProgress


@dataclass(frozen=True, slots=True)
class PushRequest:
    """`is_local` tells that a user of this machine asks: he may name hosts of the inner network."""

    model: str
    insecure: bool = False
    is_local: bool = False


class Pushes:
    """Made once; pushes may run at the same time."""

    def __init__(self, store: Store, threads: Threads, sites: Sites, web: Web) -> None:
        self._store = store
        self._threads = threads
        self._sites = sites
        self._web = web

    def push(self, request: PushRequest) -> AsyncGenerator[PullProgress, None]:
        """Everything that happens; the last item is `success`. ApiError at once for a name that is none."""
        if not request.model.strip():
            raise bad_request("model is required")
        try:
            name = parse_name(request.model.strip())
        except InvalidName:
            raise bad_request("invalid model name") from None
        return self._push(name, request)

    async def _push(self, name: Name, request: PushRequest) -> AsyncGenerator[PullProgress, None]:
        yield PullProgress("retrieving manifest")
        try:
            data, parcels = await self._threads.run(self._parcels, name)
        except ModelNotFound:
            yield PullProgress("couldn't retrieve manifest")
            raise PushFailed(f"model {name.display} is not here: no such file or directory") from None
        uploader = self._uploader(name, request)
        for parcel in parcels:
            steps = uploader.send(parcel)
            async with aclosing(steps):
                async for sent in steps:
                    status = f"pushing {sent.digest[7:19]}"
                    yield PullProgress(status, sent.digest, sent.total, sent.completed)
        yield PullProgress("pushing manifest")
        await uploader.finish(data)
        yield PullProgress("success")

    def _uploader(self, name: Name, request: PushRequest) -> Uploader:
        """To the registry itself, never to a mirror."""
        scheme: Literal["https", "http"] = "http" if name.scheme == "http" else "https"
        model = RegistryModel(scheme, name.host, name.namespace, name.model, name.tag)
        access = Access(request.is_local, request.insecure)
        place = self._sites.places(model, self._web, access)[0]
        return Uploader(place, Repository(name.namespace, name.model, name.tag), self._web)

    def _parcels(self, name: Name) -> tuple[bytes, list[Parcel]]:
        """The manifest's bytes and the blobs, each once and proven to be whole. ModelNotFound, StoreError."""
        data = self._store.manifest_bytes(self._store.resolve(name))
        manifest = parse_manifest(data)
        parcels: dict[str, Parcel] = {}
        for layer in (*manifest.layers, manifest.config):
            self._store.verify_linked(layer.digest)
            if self._store.blob_size(layer.digest) != layer.size:
                raise StoreError(f"blob {layer.digest} of {name.display} is damaged; pull or create it again")
            path = self._store.blob_path(layer.digest)
            parcels.setdefault(layer.digest, Parcel(layer.digest, layer.size, path, _source(layer, name)))
        return data, list(parcels.values())


def _source(layer: Layer, name: Name) -> str:
    """The repository that a layer came from, where that is of the same registry."""
    if not layer.from_:
        return ""
    try:
        source = parse_name(layer.from_)
    except InvalidName:
        return ""
    return f"{source.namespace}/{source.model}" if source.host.lower() == name.host.lower() else ""
