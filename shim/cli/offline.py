"""The prompt that a model of this machine would get, made as the server makes it, but without one.

The server's own services run over an engine that only knows the vocabulary; the request asks for the prompt
instead of an answer. So SYSTEM, MESSAGE, parameters, thinking and fitting to the context are the server's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from modelfiles.errors import TemplateError
from modelfiles.store import Store
from modelfiles.templates.go_prompt import GoPrompt
from runtime.events import EngineInfo
from runtime.lease import Lease
from runtime.options import LoadOptions
from runtime.supervisor import LoadedModel, ModelSpec
from runtime.vocabulary import VocabularyProcess
from shim.bridge import Threads
from shim.chat import ChatService
from shim.cli.rendering import RenderFailed, Stage
from shim.complete import CompletionService
from shim.errors import model_not_found
from shim.fitting import adds_special
from shim.generation import Generations, Outcome, Shown
from shim.headers import Headers
from shim.requests import ChatRequest, GenerateRequest
from shim.resolve import Resolver, Target
from shim.services import option_defaults
from shim.settings import Settings


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a prompt, with the bytes that it stands for."""

    id: int
    piece: bytes


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, None where the server would only load the model; `tokens` if they were asked for."""

    text: str | None
    tokens: tuple[Token, ...] = ()


def prompt_of(settings: Settings, request: ChatRequest | GenerateRequest, *, tokens: bool) -> Prompt:
    """Blocking. Raises ApiError, RenderFailed, StoreError, BadGGUF and LoadFailed."""
    return asyncio.run(_prompt(settings, replace(request, debug_render_only=True), tokens=tokens))


async def _prompt(settings: Settings, request: ChatRequest | GenerateRequest, *, tokens: bool) -> Prompt:
    threads, engine = Threads(), _VocabularyOnly()
    resolver = Resolver(Store(settings.models), Headers(), threads, go_template=settings.go_template)
    try:
        try:
            outcome = await _open(Generations(resolver, engine, option_defaults(settings)), request)
        except TemplateError as error:
            target = await resolver.find(request.model, if_empty=model_not_found(""))
            raise RenderFailed(_stage(target, request), str(error)) from error
        if not isinstance(outcome, Shown):
            return Prompt(None)
        return Prompt(outcome.prompt, tuple(engine.tokens_of(outcome.prompt)) if tokens else ())
    finally:
        engine.close()
        threads.close()


def _stage(target: Target, request: ChatRequest | GenerateRequest) -> Stage:
    """Whether the template that failed can be read at all."""
    try:
        if isinstance(request, GenerateRequest) and request.template:
            GoPrompt(request.template)
        else:
            target.templates.choose(tools=isinstance(request, ChatRequest) and bool(request.tools))
    except TemplateError:
        return "parse"
    return "exec"


async def _open(generations: Generations, request: ChatRequest | GenerateRequest) -> Outcome:
    if isinstance(request, ChatRequest):
        return await ChatService(generations).open(request)
    return await CompletionService(generations).open(request)


@dataclass(slots=True)
class _VocabularyOnly:
    """Takes the supervisor's place: what it loads is the vocabulary."""

    vocabulary: VocabularyProcess | None = field(default=None)

    async def acquire(
        self,
        spec: ModelSpec,
        options: LoadOptions,
        *,
        explicit: frozenset[str] = frozenset(),
        keep_alive: float | None = None,
    ) -> Lease:
        self.vocabulary = await asyncio.to_thread(VocabularyProcess, Path(spec.path))
        trained = spec.shape.n_ctx_train
        num_ctx = min(options.num_ctx, trained) if trained else options.num_ctx
        return cast(Lease, _VocabularyLease(self.vocabulary, _info(self.vocabulary, num_ctx), options))

    def loaded(self) -> list[LoadedModel]:
        return []

    async def unload(self, model: str) -> bool:
        return False

    def tokens_of(self, prompt: str) -> list[Token]:
        """As the engine would read the prompt: a begin sign that is written in it is not put there twice."""
        assert self.vocabulary is not None
        vocabulary = self.vocabulary
        bos = vocabulary.told["bos"]
        text = vocabulary.detokenize([bos]) if bos >= 0 else ""
        ids = vocabulary.tokenize(prompt, adds_special(prompt, text))
        return [Token(token, piece) for token, piece in zip(ids, vocabulary.pieces(ids), strict=True)]

    def close(self) -> None:
        if self.vocabulary is not None:
            self.vocabulary.close()


@dataclass(slots=True)
class _VocabularyLease:
    """The part of a lease that making a prompt needs."""

    vocabulary: VocabularyProcess
    info: EngineInfo
    options: LoadOptions
    load_ns: int = 0
    warnings: tuple[str, ...] = ()

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        return await asyncio.to_thread(self.vocabulary.tokenize, text, add_special)

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return await asyncio.to_thread(self.vocabulary.detokenize, tokens)

    def release(self) -> None:
        """The process lives until the prompt is made."""


def _info(vocabulary: VocabularyProcess, num_ctx: int) -> EngineInfo:
    return EngineInfo(
        num_ctx=num_ctx,
        num_parallel=1,
        n_ctx_train=num_ctx,
        n_layer=0,
        is_hybrid=False,
        is_recurrent=False,
        can_shift=True,
        model_bytes=0,
        device_bytes=0,
        host_bytes=0,
        extra_buffers=False,
        llama_version="",
        load_seconds=0.0,
        **vocabulary.told,
    )
