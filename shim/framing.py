"""How answers travel: one JSON object, or one a line as they come.

The first item decides: while nothing is sent, an error still has its true status; afterwards it is one more
line, under status 200. A client that goes away ends the source of items at once.

Knows nothing of what the items say.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeAlias

from aiohttp import web

from shim import gojson
from shim.middleware import error_answer, known_error

Item: TypeAlias = dict[str, object]

NDJSON = "application/x-ndjson"


def json_answer(item: object) -> web.Response:
    """One object, without a newline, and its length."""
    return web.Response(body=gojson.encode(item), content_type="application/json", charset="utf-8")


def progress_answer(item: Item) -> web.Response:
    """The last item of a job whose progress nobody wanted to see."""
    return web.Response(body=gojson.encode(item), content_type="application/json")


async def stream_lines(request: web.Request, items: AsyncIterator[Item]) -> web.StreamResponse:
    """Every item as a line, sent at once; `items` is closed whatever happens."""
    async with contextlib.aclosing(_closable(items)) as source:
        try:
            first = await anext(source, None)
        except Exception as error:  # noqa: BLE001  reported with its status, logged where it is our mistake
            return error_answer(known_error(error), charset=None)
        response = web.StreamResponse(headers={"Content-Type": NDJSON})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if first is not None:
            await response.write(gojson.encode(first) + b"\n")
        await _write_rest(response, source)
        await response.write_eof()
        return response


async def _write_rest(response: web.StreamResponse, source: AsyncIterator[Item]) -> None:
    try:
        async for item in source:
            await response.write(gojson.encode(item) + b"\n")
    except ConnectionError:
        raise  # nobody is left to tell
    except Exception as error:  # noqa: BLE001  reported in the stream, logged where it is our mistake
        known = known_error(error)
        await response.write(gojson.encode({"error": known.message, **known.extra}) + b"\n")


async def _closable(items: AsyncIterator[Item]) -> AsyncGenerator[Item, None]:
    """The same items as a generator, whose end closes the source if that can be closed."""
    try:
        async for item in items:
            yield item
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
