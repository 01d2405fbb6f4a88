"""Anthropic's endpoints: each handler reads a body, asks a service, and frames the answer.

Errors are raised; `shim.envelopes` words them.
"""

from __future__ import annotations

from aiohttp import web

from shim import sse
from shim.anthropic import answers, fields, messages
from shim.envelopes import anthropic_error
from shim.errors import ApiError, bad_request
from shim.framing import json_answer
from shim.generation import Settled
from shim.reading_bodies import read_body
from shim.services import Services
from shim.several import first_call_only, opened


def routes(services: Services) -> list[web.RouteDef]:
    """The dialect's routes as data."""
    anthropic = _Anthropic(services)
    return [
        web.post("/v1/messages", anthropic.messages),
        web.post("/v1/messages/count_tokens", anthropic.count_tokens),
    ]


def failure(error: ApiError) -> bytes:
    """An error in the middle of a stream."""
    return sse.event("error", anthropic_error(error))


class _Anthropic:
    """The handlers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._threads = services.threads
        self._chat = services.chat

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """An answer to messages."""
        asked = messages.asked(await read_body(request, fields.MESSAGES, self._threads))
        async with opened((asked.request,), self._chat.open) as replies:
            if isinstance(replies, Settled):
                raise bad_request("messages is required")
            source = replies[0].events()
            if not asked.parallel_calls:
                source = first_call_only(source)
            if asked.request.stream:
                return await sse.stream_events(request, answers.stream(asked.request, source), failure)
            return json_answer(await answers.collect(asked.request, source))

    async def count_tokens(self, request: web.Request) -> web.Response:
        """How many tokens messages are."""
        asked = messages.counted(await read_body(request, fields.COUNT_TOKENS, self._threads))
        return json_answer({"input_tokens": await self._chat.count(asked)})
