"""Chat: messages in, an answer out, for every dialect."""

from __future__ import annotations

import logging
import time

from modelfiles.templates.go_prompt import GoPrompt
from runtime.lease import Lease
from shim.admission import Admitted, check_images, check_renderer, check_request
from shim.errors import bad_request
from shim.fitting import adds_special
from shim.forced_calls import STYLE, forced
from shim.generation import Generations, Outcome, Prompt, Settled
from shim.prompt import merge_messages
from shim.requests import ChatRequest
from shim.resolve import Target

LOG = logging.getLogger("shim.chat")


class ChatService:
    """Made once; `open` may be called at the same time."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations

    async def open(self, request: ChatRequest) -> Outcome:
        """Everything up to the first token; what can be refused is refused here.

        Raises ApiError and the errors of `modelfiles` and `runtime`. A Reply must be read or closed.
        """
        began_ns = time.monotonic_ns()
        shared = self._generations
        check_request(request)
        target = await shared.resolver.find(request.model, if_empty=bad_request("model is required"))
        if not request.messages and request.keep_alive == 0:
            return await shared.unload(target)
        admitted = self._admitted(request, target, began_ns)
        return await shared.with_model(admitted, lambda lease: self._answer(lease, admitted, request))

    async def count(self, request: ChatRequest) -> int:
        """How many tokens the prompt has, however long it is; it loads the model. Raises as `open`."""
        shared = self._generations
        check_request(request)
        target = await shared.resolver.find(request.model, if_empty=bad_request("model is required"))
        admitted = self._admitted(request, target, time.monotonic_ns())
        lease = await shared.lease(admitted)
        try:
            prompt = await self._prompt(lease, admitted, request)
            if prompt.ids is not None:
                return len(prompt.ids)
            bos = (await shared.special(lease, admitted)).bos
            return len(await lease.tokenize(prompt.text, adds_special(prompt.text, bos)))
        finally:
            lease.release()

    def _admitted(self, request: ChatRequest, target: Target, began_ns: int) -> Admitted:
        tools = bool(request.tools)
        admitted = self._generations.admit(request, target, began_ns, purpose="chat", tools=tools)
        check_images(request.messages)
        return admitted

    async def _answer(self, lease: Lease, admitted: Admitted, request: ChatRequest) -> Outcome:
        if not request.messages:
            return Settled("load")
        prompt = await self._prompt(lease, admitted, request)
        return await self._generations.reply(lease, admitted, prompt)

    async def _prompt(self, lease: Lease, admitted: Admitted, request: ChatRequest) -> Prompt:
        shared, package = self._generations, admitted.target.package
        check_renderer(package)
        template = admitted.target.templates.choose(tools=bool(request.tools)) or shared.fallback
        messages = merge_messages(package, request.messages)
        rendered = await shared.render(lease, admitted, template, messages, request.tools)
        if rendered.dropped:
            LOG.info("%s: %d old messages left out, to fit the context", request.model, rendered.dropped)
        tags, must_call = admitted.tags(template), request.must_call
        return Prompt(
            rendered.text,
            rendered.ids,
            fixed=not isinstance(template, GoPrompt),
            # Messages with headers cannot hold a forced call, which is bare JSON.
            tags=None if must_call and tags and tags.turns else tags,
            style=STYLE if must_call else admitted.style(template, request.tools),
            tools=request.tools,
            constraint=forced(must_call) if must_call else None,
            stops=shared.stops(template),
        )
