"""Connections that misbehave at every stage: no HTTP, without an end, gone too early. The server stays."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.shim.serving import CAPABLE, Served, serving, until

FIRST_LINE = b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\n"
ENDLESS = json.dumps(
    {"model": "m", "prompt": "[[fake:forever]][[fake:delay=0.001]]", "think": False}
).encode()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path, OLLAMA_CONTEXT_LENGTH="4096") as running:
        await running.create("m", CAPABLE)
        yield running


@pytest.fixture(autouse=True)
def no_fault_of_ours(caplog: pytest.LogCaptureFixture) -> object:
    yield
    faults = [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert [record for record in faults if record.name.startswith("shim")] == []


async def exchange(served: Served, *pieces: bytes, seconds: float = 10) -> bytes:
    """Send these pieces, one after the other, and read until the other side closes."""
    url = served.client.make_url("/")
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        async with asyncio.timeout(seconds):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def with_length(body: bytes, *headers: bytes) -> bytes:
    lines = [b"Connection: close", b"Content-Length: %d" % len(body), *headers]
    return FIRST_LINE + b"\r\n".join(lines) + b"\r\n\r\n" + body


async def still_answers(served: Served) -> None:
    status, answer = await served.call("POST", "/api/generate", {
        "model": "m", "prompt": "[[fake:say]]here[[fake:end]]", "stream": False, "think": False,
    })  # fmt: skip
    assert (status, answer["response"]) == (200, "here")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(80),  # a TLS greeting
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
        FIRST_LINE + b"Content-Length: -1\r\n\r\n",
        FIRST_LINE + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        FIRST_LINE + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        FIRST_LINE + b"No colon here\r\n\r\n",
        FIRST_LINE + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ],
)
async def test_what_is_no_http_is_refused(served: Served, data: bytes) -> None:
    url = served.client.make_url("/")
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    assert not answer or answer.split()[1].startswith(b"4") or answer.startswith(b"HTTP/1.1 200"), answer
    await still_answers(served)


async def test_large_headers_are_read_and_huge_ones_refused(served: Served) -> None:
    """A browser's cookies for localhost are of all programs that ever ran there."""
    cookie = b"Cookie: " + b"a=b; " * 5_000
    answer = await exchange(served, with_length(b"{}", cookie))
    assert answer.startswith(b"HTTP/1.1 404 ")
    answer = await exchange(served, with_length(b"{}", b"Cookie: " + b"x" * 3_000_000))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    await still_answers(served)


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","options":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model":"m","prompt":' * 20_000,
        b'{"x":' * 9_000 + b"1" + b"}" * 9_000,
        b'{"model":"m","prompt":"\xff\xfe\xed\xa0\x80","options":{"num_predict":1}}',
        b'{"model":"m","prompt":"\\ud800","options":{"num_predict":1}}',
        b'{"model":"nobody","model":"m","prompt":"a","options":{"num_predict":9,"num_predict":1}}',
        b'{"model":"m","keep_alive":1e400}',
        b'{"model":"m","prompt":"a","options":{"seed":1e300,"num_predict":1}}',
        b'{"model":"m","prompt":"a","options":{"num_predict":' + b"9" * 5_000 + b"}}",
        b"\x00" * 1000,
        b'\xef\xbb\xbf{"model":"m"}',
    ],
    ids=range(11),
)
async def test_bodies_of_the_worst_kind(served: Served, body: bytes) -> None:
    answer = await exchange(served, with_length(body))
    status = int(answer.split()[1])
    _, _, content = answer.partition(b"\r\n\r\n")
    assert status == 200 or 400 <= status <= 500
    if status == 500:
        assert b'option \\"' in content, content
    await still_answers(served)


async def test_a_body_that_comes_byte_by_byte(served: Served) -> None:
    body = b'{"model":"m","prompt":"[[fake:say]]slow[[fake:end]]","stream":false,"think":false}'
    whole = with_length(body)
    answer = await exchange(served, *(whole[at : at + 1] for at in range(len(whole))))
    assert b'"response":"slow"' in answer


async def test_a_client_that_stops_talking_does_not_stop_others(served: Served) -> None:
    url = served.client.make_url("/")
    silent = [await asyncio.open_connection(url.host, url.port) for _ in range(100)]
    for number, (_, writer) in enumerate(silent):
        writer.write(with_length(ENDLESS)[: 10 + number])
    await still_answers(served)
    for _, writer in silent:
        writer.close()
    await still_answers(served)


@pytest.mark.parametrize("after", [0, 40, 90, 150, 10_000])
async def test_leaving_at_every_stage_frees_everything(served: Served, after: int) -> None:
    """In the head, in the body, before the first line and in the middle of the stream."""
    url = served.client.make_url("/")
    for _ in range(20):
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(with_length(ENDLESS)[:after])
        await writer.drain()
        if after > 1000:
            await reader.readline()
        writer.transport.abort()
    await still_answers(served)
    supervisor = served.services.supervisor
    await until(lambda: all(model.in_flight == 0 for model in supervisor.loaded()))


async def test_a_client_that_has_sent_everything_may_close_its_half(served: Served) -> None:
    """Go's servers answer it; some proxies and `nc -N` do that."""
    url = served.client.make_url("/")
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(with_length(b'{"model":"nobody","prompt":"a"}'))
    writer.write_eof()
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 404 ") or answer == b""
    await still_answers(served)


@pytest.mark.slow
async def test_a_thousand_requests_at_once(served: Served) -> None:
    """Each gets its own answer, or is told that the server is busy."""

    async def one(number: int) -> str:
        prompt = f"[[fake:say]]answer {number}[[fake:end]]"
        status, answer = await served.call(
            "POST", "/api/generate", {"model": "m", "prompt": prompt, "stream": False, "think": False}
        )
        if status == 503:
            return "busy"
        assert (status, answer["response"]) == (200, f"answer {number}")
        return "answered"

    found = await asyncio.gather(*map(one, range(1000)))
    assert found.count("answered") >= 500
    await still_answers(served)
