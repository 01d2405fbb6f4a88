"""Streams of events: errors before and after the first, silence, and clients that go away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from shim import sse
from shim.errors import ApiError, bad_request

Source = Callable[[], AsyncGenerator[bytes, None]]


@asynccontextmanager
async def serving(source: Source) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await sse.stream_events(request, source(), _failure, silence_seconds=0.02)
        except ApiError as error:
            return web.Response(status=error.status, text=error.message)

    app = web.Application()
    app.add_routes([web.get("/", handle)])
    async with TestClient(TestServer(app)) as client:
        yield client


def _failure(error: ApiError) -> bytes:
    return sse.data({"error": error.message})


def test_lines_that_readers_would_cut_are_escaped() -> None:
    assert sse.data({"a": "x\u2028\u0085y"}) == b'data: {"a":"x\\u2028\\u0085y"}\n\n'
    assert sse.event("ping", {}) == b"event: ping\ndata: {}\n\n"


async def test_an_error_before_the_first_event_has_its_own_status() -> None:
    async def source() -> AsyncGenerator[bytes, None]:
        refused = [bad_request("no")]
        while refused:
            raise refused.pop()
        yield b""

    async with serving(source) as client, client.get("/") as answer:
        assert (answer.status, await answer.text()) == (400, "no")


async def test_an_error_after_it_is_an_event() -> None:
    async def source() -> AsyncGenerator[bytes, None]:
        yield sse.data(1)
        raise bad_request("no")

    async with serving(source) as client, client.get("/") as answer:
        assert answer.status == 200
        assert await answer.text() == 'data: 1\n\ndata: {"error":"no"}\n\n'


async def test_comments_fill_a_silence() -> None:
    go_on = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        await go_on.wait()
        yield sse.data(1)

    async with serving(source) as client, client.get("/") as answer:
        assert await answer.content.readuntil(b"\n\n") == b": keep-alive\n\n"
        go_on.set()
        assert (await answer.content.read()).endswith(b"data: 1\n\n")


async def test_the_source_is_closed_when_the_client_goes_away() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        try:
            yield sse.data(1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with serving(source) as client:
        async with client.get("/") as answer:
            await answer.content.readuntil(b"\n\n")
            answer.close()
        async with asyncio.timeout(10):
            await closed.wait()
