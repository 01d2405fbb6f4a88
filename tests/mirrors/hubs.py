"""Hubs on this machine, with the addresses of Hugging Face and of ModelScope over the same files."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

COMMIT = "c" * 40


@dataclass
class Hub:
    """Files by path, of the repository org/repo. `page` is how many entries a page has."""

    files: dict[str, bytes] = field(default_factory=dict)
    page: int = 1000
    cap: int = 3000
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)
    extra: list[dict[str, object]] = field(default_factory=list)
    next_host: str = ""
    log: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""
    served: dict[str, bytes] = field(default_factory=dict)  # what is sent instead of what is listed

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.get("/api/models/org/repo/revision/main", self._commit),
                web.get("/api/models/org/repo/tree/{revision}", self._tree),
                web.get("/org/repo/resolve/{revision}/{path:.+}", self._file),
                web.get("/api/v1/models/org/repo/repo/files", self._listed),
                web.get("/models/org/repo/resolve/{revision}/{path:.+}", self._file),
            ]
        )
        app.on_response_prepare.append(self._remember)
        return app

    async def _remember(self, request: web.Request, response: web.StreamResponse) -> None:
        self.log.append((request.path, dict(request.headers)))

    def _refusal(self, request: web.Request) -> web.Response | None:
        for part, (status, code) in self.refuse.items():
            if part in request.path:
                return web.Response(status=status, headers={"X-Error-Code": code} if code else {}, text="no")
        return None

    async def _commit(self, request: web.Request) -> web.Response:
        return self._refusal(request) or web.json_response({"sha": COMMIT})

    async def _tree(self, request: web.Request) -> web.Response:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        entries: list[dict[str, object]] = [
            {
                "type": "file", "path": path, "size": len(data), "oid": "a" * 40,
                **({"lfs": {"oid": sha256(data), "size": len(data)}} if path.endswith(".gguf") else {}),
            }
            for path, data in self.files.items()
        ]  # fmt: skip
        entries = [{"type": "directory", "path": "folder", "size": 0}, *entries, *self.extra]
        start = int(request.query.get("cursor", "0"))
        headers = {}
        if start + self.page < len(entries):
            where = f"{self.next_host or self.url}{request.path}?recursive=true&cursor={start + self.page}"
            headers["Link"] = f'<{where}>; rel="next"'
        return web.json_response(entries[start : start + self.page], headers=headers)

    async def _listed(self, request: web.Request) -> web.Response:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        root, recursive = request.query.get("Root", ""), request.query["Recursive"] == "True"
        found: list[dict[str, object]] = []
        for path, data in self.files.items():
            folder = path.rpartition("/")[0]
            if recursive or folder == root:
                found.append(
                    {"Type": "blob", "Path": path, "Size": len(data), "Sha256": sha256(data).upper()}
                )
            elif not root and folder and not any(item["Path"] == folder for item in found):
                found.append({"Type": "tree", "Path": folder, "Size": 0, "Sha256": ""})
        return web.json_response(
            {"Code": 200, "Success": True, "Data": {"Files": [*found, *self.extra][: self.cap]}}
        )

    async def _file(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        data = self.served.get(path, self.files.get(path))
        return self._refusal(request) or (
            web.Response(status=404) if data is None else web.Response(body=data)
        )


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@asynccontextmanager
async def hub() -> AsyncIterator[Hub]:
    """An empty one, running."""
    found = Hub()
    async with TestServer(found.application()) as server:
        found.url = str(server.make_url("")).rstrip("/")
        yield found
