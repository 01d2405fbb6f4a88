"""Completion: a prompt in, its continuation out, as it is or rendered like a chat of one message."""

from __future__ import annotations

import asyncio
import time

from modelfiles.messages import Message
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import ChatTemplate
from runtime.lease import Lease
from shim.admission import (
    Admitted,
    check_images,
    check_insert,
    check_raw,
    check_renderer,
    check_request,
)
from shim.errors import model_not_found
from shim.fitting import Rendered, adds_special
from shim.generation import Generations, Outcome, Prompt, Settled
from shim.prompt import generate_messages, go_on
from shim.requests import GenerateRequest
from shim.resolve import Target


class CompletionService:
    """Made once; `open` may be called at the same time."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations

    async def open(self, request: GenerateRequest) -> Outcome:
        """Everything up to the first token, as in `shim.chat.ChatService.open`."""
        began_ns = time.monotonic_ns()
        shared = self._generations
        check_request(request)
        target = await shared.resolver.find(request.model, if_empty=model_not_found(""))
        if not request.prompt and request.keep_alive == 0:
            return await shared.unload(target)
        check_raw(request)
        admitted = shared.admit(request, target, began_ns, purpose="generate")
        check_images([Message("user", images=request.images)])
        return await shared.with_model(admitted, lambda lease: self._answer(lease, admitted, request))

    async def _answer(self, lease: Lease, admitted: Admitted, request: GenerateRequest) -> Outcome:
        if request.suffix and not request.raw:
            check_insert(admitted.target, lease.info)
        if not request.prompt:
            return Settled("load")
        prompt = await (self._raw if request.raw else self._rendered)(lease, admitted, request)
        return await self._generations.reply(lease, admitted, prompt)

    async def _raw(self, lease: Lease, admitted: Admitted, request: GenerateRequest) -> Prompt:
        """The prompt itself; a TEMPLATE still tells how thinking looks."""
        templates = admitted.target.templates
        template = templates.choose(tools=False) if templates.language == "go" else None
        return Prompt(request.prompt, tags=admitted.tags(template) if template else None)

    async def _rendered(self, lease: Lease, admitted: Admitted, request: GenerateRequest) -> Prompt:
        shared, target = self._generations, admitted.target
        check_renderer(target.package)
        before = await lease.detokenize(request.context) if request.context else ""
        given = request.template and not request.suffix
        template = await asyncio.to_thread(GoPrompt, request.template) if given else _own(target, request)
        if request.suffix:
            rendered = Rendered(await self._between(lease, admitted, request))
        elif template is None:
            rendered = Rendered(request.prompt)
        else:
            rendered = await self._of_messages(lease, admitted, request, template)
        text, ids = rendered.text, rendered.ids
        if before:
            bos = (await shared.special(lease, admitted)).bos
            text = go_on(before, text, bos if lease.info.add_bos else "")
            ids = await lease.tokenize(text, adds_special(text, bos))
        return Prompt(
            text,
            ids,
            fixed=isinstance(template, ChatTemplate) and not request.suffix,
            tags=admitted.tags(template) if template else None,
            with_context=True,
        )

    async def _of_messages(
        self, lease: Lease, admitted: Admitted, request: GenerateRequest, template: PromptTemplate
    ) -> Rendered:
        """As Ollama does it, a template in the request gets all messages, however long they are."""
        messages = generate_messages(
            admitted.target.package,
            Message("user", request.prompt),
            request.system,
            with_history=request.context is None,
        )
        whole = bool(request.template)
        return await self._generations.render(lease, admitted, template, messages, whole=whole)

    async def _between(self, lease: Lease, admitted: Admitted, request: GenerateRequest) -> str:
        """The prompt for text between prompt and suffix, by the TEMPLATE or the vocabulary's own tokens."""
        template = admitted.target.templates.inserting()
        if template is not None:
            conversation = await self._generations.conversation(lease, admitted)
            return await asyncio.to_thread(
                template.render_insert, request.prompt, request.suffix, conversation
            )
        return await between(lease, request.prompt, request.suffix)


async def between(lease: Lease, prompt: str, suffix: str) -> str:
    """A prompt for the text between these two, by the vocabulary's own tokens for it."""
    tokens = (lease.info.fim_prefix, lease.info.fim_suffix, lease.info.fim_middle)
    before, behind, here = [await lease.detokenize([token]) for token in tokens]
    return before + prompt + behind + suffix + here


def _own(target: Target, request: GenerateRequest) -> PromptTemplate | None:
    """The model's template for a conversation, or the one that fills gaps. TemplateError."""
    return target.templates.inserting() if request.suffix else target.templates.choose(tools=False)
