"""A store served to other machines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from mirrors.manifest import digest_of
from mirrors.serve import MANIFEST_TYPE, routes

DATA = bytes(range(200))
DIGEST = digest_of(DATA)

Client = TestClient[web.Request, web.Application]


class Shelf:
    """One model with one blob."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "blob"
        self._path.write_bytes(DATA)

    def manifest(self, namespace: str, model: str, tag: str) -> bytes | None:
        return b'{"as":  "it is"}' if (namespace, model, tag) == ("library", "fox", "1b") else None

    def blob(self, digest: str) -> Path | None:
        return self._path if digest == DIGEST else None


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    app = web.Application()
    app.add_routes(routes(Shelf(tmp_path)))
    async with TestClient(TestServer(app)) as made:
        yield made


async def test_a_manifest_as_it_is(client: Client) -> None:
    answer = await client.get("/v2/library/fox/manifests/1b")
    assert (answer.status, await answer.read()) == (200, b'{"as":  "it is"}')
    assert answer.headers["Content-Type"] == MANIFEST_TYPE
    assert answer.headers["Docker-Content-Digest"] == digest_of(b'{"as":  "it is"}')


async def test_a_blob_whole(client: Client) -> None:
    path = f"/v2/library/fox/blobs/{DIGEST}"
    head = await client.head(path)
    assert (head.status, head.headers["Content-Length"]) == (200, "200")
    answer = await client.get(path, headers={"Accept-Encoding": "gzip"})
    assert (answer.status, await answer.read()) == (200, DATA)
    assert answer.headers["Location"] == path
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["ETag"] == f'"{DIGEST}"'
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("asked", "start", "end"), [("0-9", 0, 9), ("150-", 150, 199), ("190-999", 190, 199), ("-5", 195, 199)]
)
async def test_a_range(client: Client, asked: str, start: int, end: int) -> None:
    answer = await client.get(f"/v2/library/fox/blobs/{DIGEST}", headers={"Range": f"bytes={asked}"})
    assert (answer.status, await answer.read()) == (206, DATA[start : end + 1])
    assert answer.headers["Content-Range"] == f"bytes {start}-{end}/200"
    assert answer.headers["ETag"] == f'"{DIGEST}"'


async def test_a_range_beyond_the_end(client: Client) -> None:
    answer = await client.get(f"/v2/library/fox/blobs/{DIGEST}", headers={"Range": "bytes=200-"})
    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */200")


@pytest.mark.parametrize(
    "path",
    [
        "/v2/library/fox/manifests/2b",
        "/v2/library/..%2F..%2Fetc/manifests/passwd",
        "/v2/library/fox/blobs/sha256:" + "0" * 64,
        "/v2/library/fox/blobs/..%2F..%2Fsecret",
        "/v2/library/fox/blobs/" + DIGEST.upper(),
    ],
)
async def test_what_is_not_there(client: Client, path: str) -> None:
    assert (await client.get(path)).status == 404


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE"])
async def test_nothing_can_be_written(client: Client, method: str) -> None:
    for path in ("/v2/library/fox/manifests/1b", f"/v2/library/fox/blobs/{DIGEST}"):
        assert (await client.request(method, path, data=b"x")).status == 405
