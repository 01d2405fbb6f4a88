"""Chat: messages in, an answer out, for every dialect."""

from __future__ import annotations

import logging
import time

from modelfiles.templates.go_prompt import GoPrompt
from runtime.lease import Lease
from shim.admission import Admitted, check_images, check_renderer, check_request
from shim.errors import bad_request
from shim.forced_calls import STYLE, forced
from shim.generation import Generations, Outcome, Prompt, Settled
from shim.prompt import merge_messages
from shim.requests import ChatRequest

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
        admitted = shared.admit(request, target, began_ns, purpose="chat", tools=bool(request.tools))
        check_images(request.messages)
        return await shared.with_model(admitted, lambda lease: self._answer(lease, admitted, request))

    async def _answer(self, lease: Lease, admitted: Admitted, request: ChatRequest) -> Outcome:
        if not request.messages:
            return Settled("load")
        shared, package = self._generations, admitted.target.package
        check_renderer(package)
        template = admitted.target.templates.choose(tools=bool(request.tools)) or shared.fallback
        messages = merge_messages(package, request.messages)
        rendered = await shared.render(lease, admitted, template, messages, request.tools)
        if rendered.dropped:
            LOG.info("%s: %d old messages left out, to fit the context", request.model, rendered.dropped)
        tags, must_call = admitted.tags(template), request.must_call
        prompt = Prompt(
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
        return await shared.reply(lease, admitted, prompt)
