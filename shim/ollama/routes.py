"""Ollama's endpoints: each handler reads a body, asks a service, and frames the answer.

What a field means and how an answer looks is decided in the pure modules beside this one.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from modelfiles.describe import ShowInfo
from modelfiles.errors import BlobNotFound, ModelNotFound
from modelfiles.package import Package
from shim.bodies import Struct, decode
from shim.embedding import as_bad_request
from shim.errors import bad_request, body_too_large, go_quoted, model_not_found, not_found
from shim.framing import encoded_answer, json_answer, progress_answer, stream_lines
from shim.gojson import encode
from shim.ollama import chat, elsewhere, embed, fields, generate, models, names, transferring
from shim.ollama.answers import Stamps
from shim.ollama.progress import last_item, progress_item, progress_lines
from shim.reply import Reply
from shim.services import Services
from shim.uploads import has_blob, receive_blob
from shim.versions import API_VERSION

_QUICK_BODY_BYTES = 1 << 20  # what is decoded on the event loop; larger bodies would hold it up
_COPILOT = "GitHubCopilotChat/"

Body = dict[str, object]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def routes(services: Services) -> list[web.RouteDef]:
    """The dialect's routes as data."""
    ollama = _Ollama(services)
    return [
        *_readable("/", ollama.root),
        *_readable("/api/version", ollama.version),
        *_readable("/api/tags", ollama.tags),
        web.get("/api/ps", ollama.running, allow_head=False),
        web.post("/api/show", ollama.show),
        web.post("/api/create", ollama.create),
        web.head("/api/blobs/{digest}", ollama.head_blob),
        web.post("/api/blobs/{digest}", ollama.post_blob),
        web.post("/api/copy", ollama.copy),
        web.delete("/api/delete", ollama.delete),
        web.post("/api/generate", ollama.generate),
        web.post("/api/chat", ollama.chat),
        web.post("/api/embed", ollama.embed),
        web.post("/api/embeddings", ollama.embeddings),
        *transferring.routes(ollama.read_body, services.fetching.pulls, services.fetching.pushes),
        *elsewhere.routes(ollama.read_body, no_cloud_is_set=services.settings.no_cloud),
    ]


def _readable(path: str, handler: Handler) -> list[web.RouteDef]:
    return [web.get(path, handler, allow_head=False), web.head(path, handler)]


def _is_copilot(request: web.Request) -> bool:
    return request.headers.get("User-Agent", "").startswith(_COPILOT)


def _encoded_show(info: ShowInfo, shown_name: str) -> bytes:
    answer = models.shown(info)
    if shown_name:
        models.name_for_copilot(answer, shown_name)
    return encode(answer)


class _Ollama:
    """The handlers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._threads = services.threads
        self._store = services.store
        self._models = services.models
        self._supervisor = services.supervisor
        self._chat = services.chat
        self._completion = services.completion
        self._embeddings = services.embeddings
        self._pulls = services.fetching.pulls

    async def root(self, request: web.Request) -> web.Response:
        return web.Response(text="Ollama is running")

    async def version(self, request: web.Request) -> web.Response:
        return json_answer({"version": API_VERSION})

    async def tags(self, request: web.Request) -> web.Response:
        return json_answer(models.tags(await self._models.summaries()))

    async def running(self, request: web.Request) -> web.Response:
        """Loaded models, and those that load or leave."""
        found = []
        for model in self._supervisor.loaded():
            if isinstance(model.spec.payload, Package):
                found.append((model, await self._models.summary(model.spec.payload)))
        return json_answer(models.running(found, time.time_ns()))

    async def show(self, request: web.Request) -> web.Response:
        body = await self.read_body(request, fields.SHOW)
        info = await self._models.show(names.name_to_show(body), models.show_options(body))
        shown_name = names.requested(body) if _is_copilot(request) else ""
        # A whole vocabulary takes half a second to encode, which the event loop has no time for.
        return encoded_answer(await self._threads.run(_encoded_show, info, shown_name))

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await self.read_body(request, fields.CREATE)
        here = transferring.is_local(request)
        fetch = partial(self._pulls.fetch, is_local=here)
        progress = self._models.create(models.create_request(body), fetch)
        models.refuse_no_files(body)
        if body.get("stream", True):
            return await stream_lines(request, progress_lines(progress, progress_item))
        return progress_answer(await last_item(progress, progress_item))

    async def head_blob(self, request: web.Request) -> web.Response:
        digest = request.match_info["digest"]
        if not await has_blob(self._store, self._threads, digest):
            raise BlobNotFound(digest)
        return web.Response()

    async def post_blob(self, request: web.Request) -> web.Response:
        digest = request.match_info["digest"]
        is_new = await receive_blob(self._store, self._threads, digest, request.content.iter_any())
        return web.Response(status=201 if is_new else 200)

    async def copy(self, request: web.Request) -> web.Response:
        body = await self.read_body(request, fields.COPY)
        source, destination = names.names_to_copy(body)
        try:
            await self._models.copy(source, destination)
        except ModelNotFound:
            raise not_found(f"model {go_quoted(str(body['source']))} not found") from None
        return web.Response()

    async def delete(self, request: web.Request) -> web.Response:
        body = await self.read_body(request, fields.DELETE)
        try:
            await self._models.delete(names.name_to_delete(body))
        except ModelNotFound:
            raise model_not_found(names.requested(body)) from None
        return web.Response()

    async def generate(self, request: web.Request) -> web.StreamResponse:
        asked = generate.generate_request(await self.read_body(request, fields.GENERATE))
        outcome, stamps = await self._completion.open(asked), Stamps()
        if not isinstance(outcome, Reply):
            return json_answer(generate.answer_at_once(asked, outcome, stamps))
        if asked.stream:
            return await stream_lines(request, generate.stream(asked, outcome.events(), stamps))
        return json_answer(await generate.collect(asked, outcome.events(), stamps))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        asked = chat.chat_request(await self.read_body(request, fields.CHAT))
        outcome, stamps = await self._chat.open(asked), Stamps()
        if not isinstance(outcome, Reply):
            return json_answer(chat.answer_at_once(asked, outcome, stamps))
        if asked.stream:
            return await stream_lines(request, chat.stream(asked, outcome.events(), stamps))
        return json_answer(await chat.collect(asked, outcome.events(), stamps))

    async def embed(self, request: web.Request) -> web.Response:
        body = await self.read_body(request, fields.EMBED)
        asked, unknown = embed.embed_request(body), embed.unknown_model(str(body.get("model", "")))
        try:
            found = await self._embeddings.embed(asked, missing=embed.missing_model(), unknown=unknown)
        except Exception as error:
            raise as_bad_request(error) or error from error
        dimensions = body.get("dimensions", 0)
        told = embed.answer(asked, dimensions if isinstance(dimensions, int) else 0, found)
        return encoded_answer(encode(told))

    async def embeddings(self, request: web.Request) -> web.Response:
        body = await self.read_body(request, fields.EMBEDDINGS)
        asked, unknown = embed.legacy_request(body), embed.unknown_model(str(body.get("model", "")))
        missing = bad_request("model is required")
        return json_answer(
            embed.legacy_answer(await self._embeddings.embed(asked, missing=missing, unknown=unknown))
        )

    async def read_body(self, request: web.Request, shape: Struct) -> Body:
        """The decoded body, whatever its Content-Type says it is. ApiError."""
        if (request.content_length or 0) > request.client_max_size:
            raise body_too_large()  # before it is read
        data = await request.read()
        if len(data) <= _QUICK_BODY_BYTES:
            return decode(data, shape)
        return await self._threads.run(decode, data, shape)
