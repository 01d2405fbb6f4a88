"""Blobs on their way to a registry, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mirrors.errors import BadAnswer, PushFailed
from mirrors.identity import Identity
from mirrors.questions import Questions
from mirrors.sites.registry import Repository, places_of
from mirrors.sources import Access
from mirrors.upload import Parcel, Uploader
from tests.mirrors.registries import Registry, digest_of, questions, registry

DATA = bytes(range(250))


@pytest.fixture
async def asked() -> AsyncIterator[Questions]:
    async with questions() as made:
        yield made


@pytest.fixture
async def remote() -> AsyncIterator[Registry]:
    async with registry() as running:
        yield running


def uploader(asked: Questions, url: str) -> Uploader:
    async def at_once(_: float) -> None:
        return None

    place = places_of(asked, url, (), lambda: Identity(bytes(32)), {}, str, Access(private=True))[0]
    return Uploader(place, Repository("me", "fox", "1b"), asked, piece_bytes=100, sleep=at_once)


def parcel(folder: Path, source: str = "") -> Parcel:
    path = folder / "blob"
    path.write_bytes(DATA)
    return Parcel(digest_of(DATA), len(DATA), path, source)


async def test_in_pieces(asked: Questions, remote: Registry, tmp_path: Path) -> None:
    sent = [item.completed async for item in uploader(asked, remote.url).send(parcel(tmp_path))]
    assert sent == [0, 100, 200, 250]
    assert remote.blobs == {digest_of(DATA): DATA}
    ranges = [headers["Content-Range"] for method, _, headers in remote.log if method == "PATCH"]
    assert ranges == ["0-99", "100-199", "200-249"]


async def test_mounted_from_another_model(asked: Questions, remote: Registry, tmp_path: Path) -> None:
    remote.refuse = {"/blobs/sha256": 404}
    remote.blobs[digest_of(DATA)] = DATA
    sent = [item.completed async for item in uploader(asked, remote.url).send(parcel(tmp_path, "a/b"))]
    assert sent == [250]
    assert remote.uploads == {}


async def test_pieces_that_are_sent_on_carry_no_credential(
    asked: Questions, remote: Registry, tmp_path: Path
) -> None:
    got: list[tuple[bytes, str | None]] = []

    async def store(request: web.Request) -> web.Response:
        got.append((await request.read(), request.headers.get("Authorization")))
        return web.Response()

    storage = web.Application()
    storage.add_routes([web.put("/part", store)])
    async with TestServer(storage) as elsewhere:
        target = str(elsewhere.make_url("/part"))

        async def on(request: web.Request) -> web.Response:
            await request.read()
            return web.Response(status=307, headers={"Location": target, "Docker-Upload-Location": "/up/1"})

        async def begin(request: web.Request) -> web.Response:
            return web.Response(status=202, headers={"Location": "/up/0"})

        async def end(request: web.Request) -> web.Response:
            return web.Response(status=201)

        front = web.Application()
        front.add_routes(
            [web.post("/v2/me/fox/blobs/uploads/", begin), web.patch("/up/{n}", on), web.put("/up/{n}", end)]
        )
        async with TestServer(front) as server:
            url = str(server.make_url("")).rstrip("/")
            async for _ in uploader(asked, url).send(parcel(tmp_path)):
                pass
    assert got == [(DATA[:100], None), (DATA[100:200], None), (DATA[200:], None)]


async def test_a_registry_cannot_have_our_credential_sent_elsewhere(
    asked: Questions, tmp_path: Path
) -> None:
    async def begin(request: web.Request) -> web.Response:
        return web.Response(status=202, headers={"Location": "http://127.0.0.2:1/up"})

    front = web.Application()
    front.add_routes([web.post("/v2/me/fox/blobs/uploads/", begin)])
    async with TestServer(front) as server:
        url = str(server.make_url("")).rstrip("/")
        with pytest.raises(BadAnswer, match="another host"):
            async for _ in uploader(asked, url).send(parcel(tmp_path)):
                pass


async def test_it_gives_up_in_the_end(asked: Questions, remote: Registry, tmp_path: Path) -> None:
    remote.refuse = {"/upload/": 500}
    with pytest.raises(PushFailed, match="max retries exceeded"):
        async for _ in uploader(asked, remote.url).send(parcel(tmp_path)):
            pass


async def test_a_file_that_is_shorter_than_it_should_be(
    asked: Questions, remote: Registry, tmp_path: Path
) -> None:
    whole = parcel(tmp_path)
    whole.path.write_bytes(DATA[:100])
    with pytest.raises(PushFailed, match="shorter"):
        async for _ in uploader(asked, remote.url).send(whole):
            pass
