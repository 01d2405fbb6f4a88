"""How answers travel: one JSON object, or one a line as they come.

The first line decides: while nothing is sent, an error still has its true status; afterwards it is one more
line, under status 200. A client that goes away ends the source of lines at once.

Knows nothing of what the lines say.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from aiohttp import web

from shim import gojson
from shim.middleware import error_answer, known_error

NDJSON = "application/x-ndjson"


def json_answer(item: object, status: int = 200) -> web.Response:
    """One object, without a newline, and its length."""
    return encoded_answer(gojson.encode(item), status)


def encoded_answer(data: bytes, status: int = 200) -> web.Response:
    """The same for an object that was encoded elsewhere, because it is large."""
    return web.Response(body=data, status=status, content_type="application/json", charset="utf-8")


def progress_answer(item: object) -> web.Response:
    """The last item of a job whose progress nobody wanted to see."""
    return web.Response(body=gojson.encode(item), content_type="application/json")


async def stream_lines(request: web.Request, lines: AsyncGenerator[bytes, None]) -> web.StreamResponse:
    """Send every line, each with its newline, at once; `lines` is closed whatever happens."""
    async with contextlib.aclosing(lines):
        try:
            first = await anext(lines, b"")
        except Exception as error:  # noqa: BLE001  reported with its status, logged where it is our mistake
            return error_answer(known_error(error), charset=None)
        response = web.StreamResponse(headers={"Content-Type": NDJSON})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(first)
        await _write_rest(response, lines)
        await response.write_eof()
        return response


async def _write_rest(response: web.StreamResponse, lines: AsyncGenerator[bytes, None]) -> None:
    try:
        async for line in lines:
            await response.write(line)
    except ConnectionError:
        raise  # nobody is left to tell
    except Exception as error:  # noqa: BLE001  reported in the stream, logged where it is our mistake
        known = known_error(error)
        await response.write(gojson.encode({"error": known.message, **known.extra}) + b"\n")
