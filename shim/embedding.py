"""Embeddings: texts in, one vector a text out, cut to the context first where that is allowed.

Any model that can be run makes them, also one that is meant for chats. Knows no dialect.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from runtime.events import Embedded, EngineInfo
from runtime.lease import Lease
from shim.admission import Admitted, runnable
from shim.errors import ApiError, as_api_error, bad_request
from shim.generation import Generations
from shim.options import OptionDefaults, merge
from shim.requests import Generation
from shim.resolve import Target
from shim.vectors import from_bytes

_NOTHING: Mapping[str, object] = MappingProxyType({})
_CUT_TOO_FAR = "input after truncation exceeds maximum context length"
_CANNOT_CUT = "input exceeds maximum context length and cannot be truncated further"
_TOO_LONG = "the input length exceeds the context length"
_SMALLEST_CONTEXT = 4  # what is loaded where a request says 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """`model` as the client wrote it; `truncate`: what does not fit may be cut; `keep_alive` in seconds."""

    model: str
    inputs: tuple[str, ...] = ()
    truncate: bool = True
    keep_alive: float | None = None
    options: Mapping[str, object] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class Vectors:
    """A vector for every input, in order, as the model made it; durations in nanoseconds."""

    vectors: tuple[array[float], ...]
    prompt_tokens: int
    total_ns: int
    load_ns: int


class Model(Protocol):
    """A loaded model; see `runtime.lease.Lease`."""

    info: EngineInfo

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        """Token ids."""
        ...

    async def embed(self, tokens: list[int]) -> Embedded:
        """The embedding of one text."""
        ...


class EmbeddingService:
    """Made once; its methods may be called at the same time."""

    def __init__(self, generations: Generations, defaults: OptionDefaults) -> None:
        self._generations = generations
        self._defaults = defaults

    async def embed(self, request: EmbedRequest, *, missing: ApiError, unknown: ApiError) -> Vectors:
        """Load the model and embed every input; none at all only loads it.

        `missing` answers a request without a model's name, `unknown` a name that nothing here has. ApiError.
        """
        began_ns = time.monotonic_ns()
        target = await self.find(request.model, missing=missing, unknown=unknown)
        admitted = self.admitted(request, target, began_ns)
        lease = await self._generations.lease(admitted)
        try:
            if request.inputs and lease.info.pooling == "rank":
                raise bad_request(
                    f"{request.model!r} ranks documents and makes no embeddings; use /v1/rerank"
                )
            limit = context_limit(request, target, lease.info)
            found = await embed_all(lease, request.inputs, limit, truncate=request.truncate)
        finally:
            lease.release()
        tokens = sum(embedded.prompt_tokens for embedded in found)
        vectors = tuple(from_bytes(embedded.vector) for embedded in found)
        return Vectors(vectors, tokens, time.monotonic_ns() - began_ns, lease.load_ns)

    async def find(self, model: str, *, missing: ApiError, unknown: ApiError) -> Target:
        """The model of that name. ApiError."""
        try:
            return await self._generations.resolver.find(model, if_empty=missing)
        except ApiError as error:
            raise unknown if error.status == 404 and error is not missing else error from None

    def admitted(self, request: EmbedRequest, target: Target, began_ns: int) -> Admitted:
        """The request with its options settled. ApiError."""
        options = merge(self._defaults, target.package.parameters, request.options)
        generation = Generation(model=request.model, keep_alive=request.keep_alive, options=request.options)
        return Admitted(generation, target, runnable(target), options, None, began_ns)

    async def lease(self, admitted: Admitted) -> Lease:
        """See `Generations.lease`."""
        return await self._generations.lease(admitted)


def context_limit(request: EmbedRequest, target: Target, info: EngineInfo) -> int:
    """Most tokens of a text. A num_ctx smaller than can be loaded still counts; 0 means the smallest one."""
    asked = request.options.get("num_ctx")
    if asked is None:
        asked = target.package.parameters.get("num_ctx")
    if isinstance(asked, bool) or not isinstance(asked, int | float) or asked < 0:
        return info.num_ctx
    return min(int(asked), info.num_ctx)


async def embed_all(model: Model, texts: Sequence[str], limit: int, *, truncate: bool) -> list[Embedded]:
    """Every text's embedding. The first failure ends the others. ApiError, GenerationFailed, WorkerDied."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_embed(model, text, limit, truncate=truncate)) for text in texts]
    except* Exception as failures:  # noqa: BLE001  told as it is, out of its group
        raise _first(failures) from None
    return [task.result() for task in tasks]


def _first(failures: BaseExceptionGroup[Exception]) -> BaseException:
    found: BaseException = failures
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


async def _embed(model: Model, text: str, limit: int, *, truncate: bool) -> Embedded:
    tokens = await model.tokenize(text)
    if not tokens:
        info = model.info  # an empty text, in a vocabulary that puts nothing around it
        tokens = [next((token for token in (info.bos, info.eos) if token >= 0), 0)]
    if len(tokens) > max(limit, _SMALLEST_CONTEXT if limit == 0 else 0):
        if not truncate:
            raise bad_request(_TOO_LONG)
        if limit == 0:
            raise bad_request(_CANNOT_CUT)
        tokens = cut(tokens, await model.tokenize(text, add_special=False), limit)
    return await model.embed(tokens)


def cut(tokens: list[int], plain: list[int], limit: int) -> list[int]:
    """`tokens` with the text's end cut off, so that `limit` are left; special tokens around it stay.

    `plain` are the text's own tokens. ApiError where nothing of the text would remain.
    """
    around = len(tokens) - len(plain)
    before = next((at for at in range(around + 1) if tokens[at : at + len(plain)] == plain), 0)
    room = limit - around
    if room <= 0:
        raise bad_request(_CUT_TOO_FAR)
    return tokens[:before] + plain[:room] + tokens[before + len(plain) :]


def as_bad_request(error: BaseException) -> ApiError | None:
    """What Ollama makes of a failure while embedding: 400, but for what has its own status."""
    known = as_api_error(error)
    if known is None or isinstance(error, ApiError):
        return known
    return bad_request(known.message) if known.status == 500 else known
