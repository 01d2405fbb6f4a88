"""Server-sent events: how the streams of OpenAI's and Anthropic's dialects travel.

As long as nothing is sent, an error still has its own status; afterwards the dialect words it as one more
event. A model that reads a long prompt is silent, which clients and proxies take for a dead connection: after
some seconds comments are sent, which no client may take for anything. Knows nothing of what events say.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from aiohttp import web

from shim.errors import ApiError
from shim.gojson import encode
from shim.middleware import known_error

SILENCE_SECONDS = 15.0
_COMMENT = b": keep-alive\n\n"
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
DONE = b"data: [DONE]\n\n"


def data(item: object) -> bytes:
    """An event without a name."""
    return b"data: " + encode(item) + b"\n\n"


def event(name: str, item: object) -> bytes:
    """An event with a name."""
    return f"event: {name}\ndata: ".encode() + encode(item) + b"\n\n"


async def stream_events(
    request: web.Request,
    events: AsyncGenerator[bytes, None],
    failure: Callable[[ApiError], bytes],
    *,
    silence_seconds: float = SILENCE_SECONDS,
) -> web.StreamResponse:
    """Send every event at once; `events` is closed whatever happens.

    Raises what `events` raises before the first one, where that comes soon enough; later `failure` words it.
    """
    async with contextlib.aclosing(_with_comments(events, silence_seconds)) as pieces:
        first = await anext(pieces, b"")
        response = web.StreamResponse(headers=_HEADERS)
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(first)
        try:
            async for piece in pieces:
                await response.write(piece)
        except ConnectionError:
            raise  # nobody is left to tell
        except Exception as error:  # noqa: BLE001  told in the stream, logged where it is our mistake
            await response.write(failure(known_error(error)))
        await response.write_eof()
        return response


async def _with_comments(
    events: AsyncGenerator[bytes, None], silence_seconds: float
) -> AsyncGenerator[bytes, None]:
    """The events, and a comment wherever none came for so long."""
    async with contextlib.aclosing(events):
        while True:
            waiting = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait((waiting,), timeout=silence_seconds))[0]:
                    yield _COMMENT
            finally:
                if not waiting.done():
                    waiting.cancel()
                    await asyncio.wait((waiting,))
            piece = waiting.result()
            if piece is None:
                return
            yield piece
