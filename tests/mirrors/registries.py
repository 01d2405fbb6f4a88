"""A registry on this machine that speaks Ollama's protocol: logins, redirects, uploads, a log of requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

from mirrors.http import HttpClient, HttpSettings
from mirrors.questions import Questions

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LAYER = "application/vnd.ollama.image."
CONFIG = "application/vnd.docker.container.image.v1+json"
CONFIG_DATA = b'{"model_format":"gguf","model_family":"llama","architecture":"amd64","os":"linux"}'


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def manifest_of(config: bytes, *layers: tuple[str, bytes]) -> bytes:
    """The bytes of a manifest, spaced as no program of ours writes it."""
    content = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
        "layers": [
            {"mediaType": LAYER + kind, "digest": digest_of(data), "size": len(data)} for kind, data in layers
        ],
    }
    return json.dumps(content, indent=3).encode()


@dataclass
class Registry:
    """What it has, how it behaves, and what it was asked. `token`: the login that it wants, or none."""

    manifests: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    token: str = ""
    realm: str = ""
    refuse: dict[str, int] = field(default_factory=dict)
    redirect: str = ""
    redirect_status: int = 307
    log: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    uploads: dict[str, bytearray] = field(default_factory=dict)
    url: str = ""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def add(self, name: str, config: bytes, *layers: tuple[str, bytes]) -> bytes:
        """A model `namespace/model:tag`; the bytes of its manifest."""
        data = manifest_of(config, *layers)
        self.manifests[name] = data
        for content in (config, *(content for _, content in layers)):
            self.blobs[digest_of(content)] = content
        return data

    def paths(self, method: str = "GET") -> list[str]:
        return [path for asked, path, _ in self.log if asked == method]

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30, middlewares=[self._gate])
        repository = "/v2/{namespace}/{model}"
        app.add_routes(
            [
                web.get("/token", self._give_token),
                web.get(repository + "/manifests/{tag}", self._manifest),
                web.put(repository + "/manifests/{tag}", self._put_manifest),
                web.get(repository + "/blobs/{digest}", self._blob),
                web.post(repository + "/blobs/uploads/", self._open),
                web.patch("/upload/{id}", self._piece),
                web.put("/upload/{id}", self._finish),
                web.get("/storage/{digest}", self._stored),
            ]
        )
        return app

    @web.middleware
    async def _gate(
        self, request: web.Request, handler: Callable[[web.Request], object]
    ) -> web.StreamResponse:
        self.log.append((request.method, request.path, dict(request.headers)))
        for part, status in self.refuse.items():
            if part in request.path:
                return web.json_response({"errors": [{"code": "X", "message": "refused"}]}, status=status)
        wanted = f"Bearer {self.token}"
        guarded = self.token and request.path.startswith(("/v2/", "/upload/"))
        if guarded and request.headers.get("Authorization") != wanted:
            realm = self.realm or f"{self.url}/token"
            challenge = f'Bearer realm="{realm}",service="{self.host}",scope="repository:x:pull"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        answer = await handler(request)  # type: ignore[misc]
        assert isinstance(answer, web.StreamResponse)
        return answer

    async def _give_token(self, request: web.Request) -> web.Response:
        return web.json_response({"token": self.token})

    async def _manifest(self, request: web.Request) -> web.Response:
        found = self.manifests.get("{namespace}/{model}:{tag}".format(**request.match_info))
        if found is None:
            return web.json_response({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, status=404)
        return web.Response(body=found, content_type="text/plain")

    async def _put_manifest(self, request: web.Request) -> web.Response:
        self.manifests["{namespace}/{model}:{tag}".format(**request.match_info)] = await request.read()
        return web.Response(status=201)

    async def _blob(self, request: web.Request) -> web.Response:
        digest = request.match_info["digest"]
        if digest not in self.blobs:
            return web.Response(status=404)
        if self.redirect:
            raise _redirect(self.redirect_status, f"{self.redirect}/storage/{digest}")
        return _ranged(request, self.blobs[digest])

    async def _stored(self, request: web.Request) -> web.Response:
        return _ranged(request, self.blobs[request.match_info["digest"]])

    async def _open(self, request: web.Request) -> web.Response:
        mount = request.query.get("mount", "")
        if mount in self.blobs:
            return web.Response(status=201)
        key = str(len(self.uploads))
        self.uploads[key] = bytearray()
        return web.Response(status=202, headers={"Location": f"/upload/{key}?state=a"})

    async def _piece(self, request: web.Request) -> web.Response:
        data, key = await request.read(), request.match_info["id"]
        start, end = map(int, request.headers["Content-Range"].split("-"))
        if start != len(self.uploads[key]) or end - start + 1 != len(data):
            return web.Response(status=416)
        self.uploads[key] += data
        return web.Response(status=202, headers={"Docker-Upload-Location": f"/upload/{key}?state=b"})

    async def _finish(self, request: web.Request) -> web.Response:
        data = bytes(self.uploads[request.match_info["id"]])
        if digest_of(data) != request.query["digest"]:
            return web.json_response({"errors": [{"code": "DIGEST_INVALID", "message": "no"}]}, status=400)
        self.blobs[digest_of(data)] = data
        return web.Response(status=201)


def _redirect(status: int, location: str) -> web.HTTPException:
    kinds = {
        301: web.HTTPMovedPermanently, 302: web.HTTPFound, 303: web.HTTPSeeOther,
        307: web.HTTPTemporaryRedirect, 308: web.HTTPPermanentRedirect,
    }  # fmt: skip
    return kinds[status](location)


def _ranged(request: web.Request, data: bytes) -> web.Response:
    asked = request.http_range
    if asked.start is None:
        return web.Response(body=data, headers={"Accept-Ranges": "bytes"})
    end = min(asked.stop or len(data), len(data))
    told = f"bytes {asked.start}-{end - 1}/{len(data)}"
    return web.Response(status=206, body=data[asked.start : end], headers={"Content-Range": told})


@asynccontextmanager
async def registry() -> AsyncIterator[Registry]:
    """An empty one, running."""
    found = Registry()
    async with TestServer(found.application()) as server:
        found.url = str(server.make_url("")).rstrip("/")
        yield found


@asynccontextmanager
async def questions() -> AsyncIterator[Questions]:
    """The real client, which waits for nothing between tries."""

    async def at_once(_: float) -> None:
        return None

    client = HttpClient(HttpSettings())
    try:
        yield Questions(client, sleep=at_once)
    finally:
        await client.close()
