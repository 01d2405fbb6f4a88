"""Completion: a prompt in, its continuation out, as it is or rendered like a chat of one message."""

from __future__ import annotations

import time

from modelfiles.messages import Message
from runtime.lease import Lease
from shim.admission import Admitted, check_images, check_raw, check_request
from shim.errors import model_not_found
from shim.generation import Generations, Outcome, Prompt, Settled
from shim.prompt import generate_messages, go_on
from shim.requests import GenerateRequest


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
        if not request.prompt:
            return Settled("load")
        prompt = Prompt(request.prompt) if request.raw else await self._rendered(lease, admitted, request)
        return await self._generations.reply(lease, admitted, prompt)

    async def _rendered(self, lease: Lease, admitted: Admitted, request: GenerateRequest) -> Prompt:
        shared = self._generations
        before = await lease.detokenize(request.context) if request.context else ""
        template = shared.template(admitted.target, tools=False)
        if template is None:
            return Prompt(before + request.prompt, with_context=True)
        messages = generate_messages(
            admitted.target.package,
            Message("user", request.prompt),
            request.system,
            with_history=request.context is None,
        )
        rendered = await shared.render(lease, admitted, template, messages)
        tags = admitted.tags(template.source)
        if not before:
            return Prompt(rendered.text, rendered.tokens, fixed=True, tags=tags, with_context=True)
        bos = (await shared.special(lease, admitted)).bos if lease.info.add_bos else ""
        text = go_on(before, rendered.text, bos)
        tokens = len(await lease.tokenize(text))
        return Prompt(text, tokens, fixed=True, tags=tags, with_context=True)
