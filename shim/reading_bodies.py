"""Reads a request's body, and large ones on a thread: they would hold the event loop up. Knows no dialect."""

from __future__ import annotations

from aiohttp import web

from shim.bodies import Struct, decode
from shim.bridge import Threads
from shim.errors import bad_request, body_too_large

_QUICK_BODY_BYTES = 1 << 20


async def read_body(request: web.Request, shape: Struct, threads: Threads) -> dict[str, object]:
    """The decoded body, whatever its Content-Type says it is. ApiError."""
    if (request.content_length or 0) > request.client_max_size:
        raise body_too_large()  # before it is read
    data = await request.read()
    if not data:
        raise bad_request("EOF")  # what Ollama's compatible endpoints say
    if len(data) <= _QUICK_BODY_BYTES:
        return decode(data, shape)
    return await threads.run(decode, data, shape)
