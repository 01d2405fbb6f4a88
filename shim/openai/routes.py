"""OpenAI's endpoints: each handler reads a body, asks a service, and frames the answer.

Errors are raised; `shim.envelopes` words them. What a field means and how an answer looks is decided in the
pure modules beside this one.
"""

from __future__ import annotations

from functools import partial

from aiohttp import web

from shim import sse
from shim.embedding import as_bad_request
from shim.envelopes import openai_error
from shim.errors import ApiError, bad_request, model_not_found
from shim.framing import encoded_answer, json_answer
from shim.generation import Settled
from shim.gojson import encode
from shim.openai import answers, chat, completions, embeddings, fields, models, response_events, responses
from shim.openai.stored import StoredResponses
from shim.reading_bodies import read_body
from shim.services import Services
from shim.several import first_call_only, opened


def routes(services: Services) -> list[web.RouteDef]:
    """The dialect's routes as data."""
    openai = _OpenAI(services)
    return [
        web.get("/v1/models", openai.models, allow_head=False),
        web.get("/v1/models/{model:.+}", openai.model, allow_head=False),
        web.post("/v1/chat/completions", openai.chat),
        web.post("/v1/completions", openai.completions),
        web.post("/v1/embeddings", openai.embeddings),
        web.post("/v1/responses", openai.responses),
    ]


def failure(error: ApiError) -> bytes:
    """An error in the middle of a stream."""
    return sse.data(openai_error(error))


class _OpenAI:
    """The handlers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._threads = services.threads
        self._models = services.models
        self._resolver = services.resolver
        self._chat = services.chat
        self._completion = services.completion
        self._embeddings = services.embeddings
        self._stored = StoredResponses()

    async def models(self, request: web.Request) -> web.Response:
        """All models."""
        summaries = await self._models.summaries()
        return json_answer(models.listed(summary.package for summary in summaries))

    async def model(self, request: web.Request) -> web.Response:
        """One model."""
        name = request.match_info["model"]
        target = await self._resolver.find(name, if_empty=model_not_found(name))
        return json_answer(models.model(target.package, name))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """An answer to messages."""
        asked = chat.asked(await read_body(request, fields.CHAT, self._threads))
        async with opened(asked.requests(), self._chat.open) as replies:
            if isinstance(replies, Settled):
                raise bad_request("[] is too short - 'messages'")
            sources = [reply.events() for reply in replies]
            if not asked.parallel_calls:
                sources = [first_call_only(source) for source in sources]
            if asked.request.stream:
                return await sse.stream_events(request, answers.stream(asked, sources), failure)
            return json_answer(await answers.collect(asked, sources))

    async def responses(self, request: web.Request) -> web.StreamResponse:
        """An answer to messages, as a list of items."""
        body = await read_body(request, fields.RESPONSES, self._threads)
        asked = responses.asked(body, self._stored)
        async with opened((asked.request,), self._chat.open) as replies:
            if isinstance(replies, Settled):
                raise bad_request("input must not be empty")
            source = replies[0].events()
            if not asked.parallel_calls:
                source = first_call_only(source)
            if asked.request.stream:
                events = response_events.stream(asked, source, self._stored)
                return await sse.stream_events(request, events, partial(response_events.failed, asked))
            return json_answer(await response_events.collect(asked, source, self._stored))

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """Prompts and how they go on."""
        made = completions.asked(await read_body(request, fields.COMPLETION, self._threads))
        async with opened(made.requests, self._completion.open) as replies:
            if isinstance(replies, Settled):
                return json_answer(completions.settled(made, replies))
            sources = [reply.events() for reply in replies]
            if made.stream:
                return await sse.stream_events(request, completions.stream(made, sources), failure)
            return json_answer(await completions.collect(made, sources))

    async def embeddings(self, request: web.Request) -> web.Response:
        """A vector for every text."""
        body = await read_body(request, fields.EMBEDDINGS, self._threads)
        asked = embeddings.embed_request(body)
        try:
            found = await self._embeddings.embed(
                asked, missing=bad_request("model is required"), unknown=model_not_found(asked.model)
            )
        except Exception as error:
            raise as_bad_request(error) or error from error
        return encoded_answer(encode(embeddings.answer(body, asked, found)))
