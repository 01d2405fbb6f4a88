"""The endpoints that move models between registries and the store."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator, Awaitable, Callable

from aiohttp import web

from shim.bodies import Struct
from shim.framing import progress_answer, stream_lines
from shim.ollama import fields, pull
from shim.ollama.progress import last_item, progress_lines
from shim.pulling import Pulls
from shim.pushing import Pushes
from shim.transfers import PullProgress

ReadBody = Callable[[web.Request, Struct], Awaitable[dict[str, object]]]


def routes(read_body: ReadBody, pulls: Pulls, pushes: Pushes) -> list[web.RouteDef]:
    """The routes as data; `read_body` decodes a request's body."""
    here = _Transferring(read_body, pulls, pushes)
    return [web.post("/api/pull", here.pull), web.post("/api/push", here.push)]


def is_local(request: web.Request) -> bool:
    """Whether someone on this machine asks, and not a proxy here for someone elsewhere."""
    if any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP")):
        return False
    try:
        return request.remote is not None and ipaddress.ip_address(request.remote).is_loopback
    except ValueError:
        return False


class _Transferring:
    """The handlers."""

    def __init__(self, read_body: ReadBody, pulls: Pulls, pushes: Pushes) -> None:
        self._read_body = read_body
        self._pulls = pulls
        self._pushes = pushes

    async def pull(self, request: web.Request) -> web.StreamResponse:
        body = await self._read_body(request, fields.PULL)
        steps = self._pulls.pull(pull.pull_request(body, is_local=is_local(request)))
        return await _answer(request, body, steps)

    async def push(self, request: web.Request) -> web.StreamResponse:
        body = await self._read_body(request, fields.PUSH)
        steps = self._pushes.push(pull.push_request(body, is_local=is_local(request)))
        return await _answer(request, body, steps)


async def _answer(
    request: web.Request, body: dict[str, object], steps: AsyncGenerator[PullProgress, None]
) -> web.StreamResponse:
    if body.get("stream", True):
        return await stream_lines(request, progress_lines(steps, pull.item))
    return progress_answer(await last_item(steps, pull.item))
