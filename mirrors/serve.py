"""A store served to other machines by the registry protocol, read-only: one machine fetches, the others copy.

`GET /v2/NAMESPACE/MODEL/manifests/TAG` answers with the manifest's bytes as they are, `/v2/NAMESPACE/MODEL/
blobs/DIGEST` with a blob or a range of it. The answer to a blob names its own address in `Location`: clients
of Ollama take their ranges from there and refuse an answer without one. Knows nothing of how models are kept.
"""

import asyncio
import re
from pathlib import Path
from typing import Protocol

from aiohttp import ETag, web

from mirrors.manifest import digest_of

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_CHUNK_BYTES = 1 << 20


class Shelf(Protocol):
    """What is served. Both methods block."""

    def manifest(self, namespace: str, model: str, tag: str) -> bytes | None:
        """The bytes of a manifest; None if there is no such model."""
        ...

    def blob(self, digest: str) -> Path | None:
        """Where a blob lies; None if it is not there."""
        ...


def routes(shelf: Shelf) -> list[web.RouteDef]:
    """The routes as data."""
    served = _Served(shelf)
    repository = "/v2/{namespace}/{model}"
    return [
        web.get("/v2/", served.version, allow_head=True),
        web.get(repository + "/manifests/{reference}", served.manifest, allow_head=True),
        web.get(repository + "/blobs/{digest}", served.blob, allow_head=True),
    ]


class BlobResponse(web.FileResponse):
    """A file, or a range of it, whose tag is the digest; a file's time says nothing about its content."""

    def __init__(self, path: Path, digest: str, location: str) -> None:
        super().__init__(
            path,
            chunk_size=_CHUNK_BYTES,
            headers={
                "Content-Type": "application/octet-stream",
                "Docker-Content-Digest": digest,
                "Location": location,
            },
        )
        self._digest = digest

    @property
    def etag(self) -> ETag | None:
        """The digest, which holds whatever the file's time is."""
        return ETag(self._digest)

    @etag.setter
    def etag(self, value: ETag | str | None) -> None:
        self.headers["ETag"] = f'"{self._digest}"'


class _Served:
    """The handlers."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response({})

    async def manifest(self, request: web.Request) -> web.Response:
        parts = [request.match_info[name] for name in ("namespace", "model", "reference")]
        if not all(map(_PART.fullmatch, parts)):
            return _unknown("MANIFEST_UNKNOWN", "no such model")
        data = await asyncio.to_thread(self._shelf.manifest, *parts)
        if data is None:
            return _unknown("MANIFEST_UNKNOWN", "no such model")
        return web.Response(
            body=data,
            headers={"Content-Type": MANIFEST_TYPE, "Docker-Content-Digest": digest_of(data)},
        )

    async def blob(self, request: web.Request) -> web.StreamResponse:
        digest = request.match_info["digest"]
        path = await asyncio.to_thread(self._shelf.blob, digest) if _DIGEST.fullmatch(digest) else None
        if path is None:
            return _unknown("BLOB_UNKNOWN", "no such blob")
        return BlobResponse(path, digest, request.path)


def _unknown(code: str, message: str) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=404)
