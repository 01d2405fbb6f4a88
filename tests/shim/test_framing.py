"""Streams over real sockets: what the first item decides, and what happens when either side goes away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable

from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from shim.errors import bad_request
from shim.framing import json_answer, progress_answer, stream_lines
from shim.middleware import errors_as_answers

Source = Callable[[], AsyncGenerator[bytes, None]]


def served(source: Source) -> TestServer:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await stream_lines(request, source())

    app = web.Application(middlewares=[errors_as_answers])
    app.router.add_get("/", handler)
    return TestServer(app)


async def answer_of(source: Source) -> tuple[int, str, bytes]:
    async with (
        served(source) as server,
        ClientSession() as session,
        session.get(server.make_url("/")) as answer,
    ):
        return answer.status, answer.headers["Content-Type"], await answer.read()


def items(*values: bytes, error: Exception | None = None) -> Source:
    """A source that yields the values and then raises the error."""

    async def source() -> AsyncGenerator[bytes, None]:
        for value in values:
            yield value
        if error is not None:
            raise error

    return source


async def test_one_object_a_line_with_a_newline_after_the_last() -> None:
    expected = b'{"a":"x"}\n{"b":1}\n'
    assert await answer_of(items(b'{"a":"x"}\n', b'{"b":1}\n')) == (200, "application/x-ndjson", expected)


async def test_an_error_in_the_first_place_has_its_status() -> None:
    found = await answer_of(items(error=bad_request("no good")))
    assert found == (400, "application/json", b'{"error":"no good"}')


async def test_a_later_error_is_one_more_line() -> None:
    found = await answer_of(items(b'{"a":1}\n', error=bad_request("no good")))
    assert found == (200, "application/x-ndjson", b'{"a":1}\n{"error":"no good"}\n')


async def test_our_own_mistake_ends_the_stream_readably() -> None:
    status, _, body = await answer_of(items(b'{"a":1}\n', error=KeyError("secret")))
    assert status == 200
    assert json.loads(body.splitlines()[1]) == {"error": "internal error, see the server's log"}


async def test_nothing_at_all_is_an_empty_stream() -> None:
    assert await answer_of(items()) == (200, "application/x-ndjson", b"")


async def test_every_line_leaves_at_once() -> None:
    go_on = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        yield b'{"n":1}\n'
        await go_on.wait()
        yield b'{"n":2}\n'

    async with (
        served(source) as server,
        ClientSession() as session,
        session.get(server.make_url("/")) as answer,
    ):
        assert await asyncio.wait_for(answer.content.readline(), 5) == b'{"n":1}\n'
        go_on.set()
        assert await asyncio.wait_for(answer.content.readline(), 5) == b'{"n":2}\n'


async def test_a_client_that_goes_away_closes_the_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x" * 1000 + b"\n"
                await asyncio.sleep(0)
        finally:
            closed.set()

    async with served(source) as server, ClientSession() as session:
        answer = await session.get(server.make_url("/"))
        await answer.content.readline()
        answer.close()
        await asyncio.wait_for(closed.wait(), 5)


async def test_single_answers() -> None:
    answer = json_answer({"a": "<"})
    assert (answer.body, answer.headers["Content-Type"]) == (
        b'{"a":"\\u003c"}',
        "application/json; charset=utf-8",
    )
    answer = progress_answer({"status": "success"})
    assert (answer.body, answer.headers["Content-Type"]) == (b'{"status":"success"}', "application/json")
