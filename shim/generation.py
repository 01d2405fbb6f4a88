"""What chat and completion have in common: the model is loaded, and a finished prompt is answered.

Everything that can be refused is refused before the first token, while an error still has its own status.
Knows no dialect.
"""

from __future__ import annotations

import dataclasses
import secrets
import string
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from msgspec.structs import replace

from modelfiles.messages import Message, Tool
from modelfiles.replies.blocks import Style
from modelfiles.replies.generic import GenericStyle
from modelfiles.replies.stream import ReplyReader
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.jinja import FALLBACK_SOURCE, ChatTemplate, Conversation
from modelfiles.templates.switches import Thinking
from modelfiles.templates.tags import ThinkingTags, opens_thinking
from runtime.lease import Lease
from runtime.options import Constraint, LoadOptions, SamplingOptions
from runtime.supervisor import LoadedModel, ModelSpec
from shim.admission import Admitted, admit
from shim.constraints import of_format
from shim.errors import ContextExceeded
from shim.fitting import ContextFitter, Rendered, adds_special
from shim.options import Merged, OptionDefaults
from shim.reply import Reply, Task, exceeds_context
from shim.requests import Generation
from shim.resolve import Resolver, Target
from shim.tally import ReplyTally

_ID_CHARACTERS = string.ascii_lowercase + string.digits
_MOST_CONTEXTS = 10  # no answer is longer than so many times the context
# A model that was never taught the fallback template's marks may write them as plain text.
_FALLBACK_STOPS = ("<|im_end|>", "<|im_start|>")


class Supervisor(Protocol):
    """Who runs models; see `runtime.supervisor.Supervisor`."""

    async def acquire(
        self,
        spec: ModelSpec,
        options: LoadOptions,
        *,
        explicit: frozenset[str] = frozenset(),
        keep_alive: float | None = None,
    ) -> Lease:
        """The right to use a model, loaded if need be."""
        ...

    def loaded(self) -> list[LoadedModel]:
        """All that are loaded or loading."""
        ...

    async def unload(self, model: str) -> bool:
        """Let it go when it is idle."""
        ...


@dataclass(frozen=True, slots=True)
class Settled:
    """The model was loaded or is being unloaded; there is nothing to answer."""

    reason: Literal["load", "unload"]


@dataclass(frozen=True, slots=True)
class Shown:
    """The prompt that would have been answered."""

    prompt: str
    image_count: int = 0


Outcome: TypeAlias = Settled | Shown | Reply


@dataclass(frozen=True, slots=True)
class Special:
    """The texts of two special tokens; empty where the vocabulary has none."""

    bos: str
    eos: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A finished prompt. `ids` as in `shim.fitting.Rendered`; `fixed`: the engine must not shorten it.

    `tags`, `style` and `tools` say how the answer is read; `with_context` asks for the tokens of both.
    `constraint` goes before what the request says about the answer's form.
    """

    text: str
    ids: list[int] | None = None
    fixed: bool = False
    tags: ThinkingTags | None = None
    style: Style | GenericStyle | None = None
    tools: tuple[Tool, ...] = ()
    stops: Sequence[str] = ()
    with_context: bool = False
    constraint: Constraint | None = None


def new_call_id() -> str:
    """An id for a tool call, in Ollama's form."""
    return "call_" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))


def worth_reloading(options: Merged, loaded_context: int) -> frozenset[str]:
    """The given load options for whose sake a loaded model may be loaded again.

    A PARAMETER num_ctx of the model itself is no reason while the model is up with a larger context: somebody
    asked for that one, and a client that does not care must not throw it out.
    """
    enough = loaded_context >= options.load.num_ctx and "num_ctx" not in options.requested
    return options.explicit - {"num_ctx"} if enough else options.explicit


class Generations:
    """Made once; its methods may be called at the same time."""

    def __init__(
        self,
        resolver: Resolver,
        supervisor: Supervisor,
        defaults: OptionDefaults,
        *,
        now: Callable[[], datetime] = datetime.now,
        call_ids: Callable[[], str] = new_call_id,
    ) -> None:
        self.resolver = resolver
        self._supervisor = supervisor
        self._defaults = defaults
        self._now = now
        self._call_ids = call_ids
        self._fallback = ChatTemplate(FALLBACK_SOURCE)
        self._special: dict[str, Special] = {}
        self.tally = ReplyTally()

    async def unload(self, target: Target) -> Settled:
        """Let the model go when it is idle."""
        if target.spec is not None:
            await self._supervisor.unload(target.spec.key)
        return Settled("unload")

    def admit(
        self, request: Generation, target: Target, began_ns: int, *, purpose: str, tools: bool = False
    ) -> Admitted:
        """See `shim.admission.admit`."""
        if request.think_if_able and request.think and "thinking" not in target.capabilities:
            request = dataclasses.replace(request, think=None)
        return admit(request, target, self._defaults, began_ns, purpose=purpose, tools=tools)

    async def with_model(self, admitted: Admitted, answer: Callable[[Lease], Awaitable[Outcome]]) -> Outcome:
        """What `answer` makes of the loaded model, which only a Reply keeps. Raises as `lease` does."""
        lease = await self.lease(admitted)
        kept = False
        try:
            outcome = await answer(lease)
            kept = isinstance(outcome, Reply)
            return outcome
        finally:
            if not kept:
                lease.release()

    async def lease(self, admitted: Admitted) -> Lease:
        """The loaded model, to be released by the caller.

        Raises StoreError if the model's file was changed, and the errors of `runtime`.
        """
        spec = admitted.spec
        loaded = next((model for model in self._supervisor.loaded() if model.spec.key == spec.key), None)
        if loaded is None:
            await self.resolver.check_unchanged(admitted.target)
        adapters = tuple((str(path), 1.0) for path in admitted.target.package.adapters)
        return await self._supervisor.acquire(
            spec,
            replace(admitted.options.load, adapters=adapters),
            explicit=worth_reloading(admitted.options, loaded.context_length if loaded else 0),
            keep_alive=admitted.request.keep_alive,
        )

    @property
    def fallback(self) -> ChatTemplate:
        """ChatML, for models without any template."""
        return self._fallback

    async def special(self, lease: Lease, admitted: Admitted) -> Special:
        """The special tokens' texts, asked for once per model."""
        known = self._special.get(admitted.spec.key)
        if known is None:
            bos, eos = lease.info.bos, lease.info.eos
            known = Special(
                await lease.detokenize([bos]) if bos >= 0 else "",
                await lease.detokenize([eos]) if eos >= 0 else "",
            )
            self._special[admitted.spec.key] = known
        return known

    async def render(
        self,
        lease: Lease,
        admitted: Admitted,
        template: PromptTemplate,
        messages: tuple[Message, ...],
        tools: tuple[Tool, ...] = (),
        *,
        whole: bool = False,
    ) -> Rendered:
        """The prompt's text, shortened to the context unless request or `whole` forbid it. TemplateError."""
        conversation = await self.conversation(lease, admitted, messages, tools)
        fitter = ContextFitter(template, conversation, lease.info.num_ctx, lease)
        return await (fitter.fit() if admitted.request.truncate and not whole else fitter.whole())

    async def conversation(
        self,
        lease: Lease,
        admitted: Admitted,
        messages: tuple[Message, ...] = (),
        tools: tuple[Tool, ...] = (),
    ) -> Conversation:
        """What a template is given for this request."""
        special = await self.special(lease, admitted)
        return Conversation(
            messages,
            self._now(),
            tools,
            admitted.thinking,
            admitted.template_variables(),
            special.bos,
            special.eos,
        )

    async def reply(self, lease: Lease, admitted: Admitted, prompt: Prompt) -> Outcome:
        """Have the prompt answered, or show it where that was asked for.

        ApiError if it must not be shortened and does not fit.
        """
        request, num_ctx = admitted.request, lease.info.num_ctx
        if request.debug_render_only:
            return Shown(prompt.text)
        tokens = len(prompt.ids or ())
        if tokens >= num_ctx and (prompt.fixed or not request.truncate):
            text = exceeds_context(f"the prompt has {tokens} tokens, the context holds {num_ctx}")
            raise ContextExceeded(text, tokens, num_ctx)
        bos = (await self.special(lease, admitted)).bos
        inside = prompt.tags is not None and opens_thinking(prompt.text, prompt.tags)
        task = Task(
            prompt=prompt.text if prompt.ids is None else prompt.ids,
            sampling=_sampling(admitted.options.sampling, num_ctx, prompt.stops),
            began_ns=admitted.began_ns,
            add_special=adds_special(prompt.text, bos),
            shift=request.shift,
            truncate=request.truncate and not prompt.fixed,
            logprobs=request.top_logprobs if request.logprobs else -1,
            with_context=prompt.with_context,
            prompt_tokens=tokens,
            constraint=behind_thinking(
                prompt.constraint or of_format(request.format) or request.constraint,
                prompt.tags,
                admitted.thinking,
                inside=inside,
            ),
            model=admitted.target.package.name.display,
            thinking_off=admitted.thinking is False,
        )
        reader = ReplyReader(prompt.tags, prompt.style, prompt.tools, inside=inside)
        return Reply(lease, task, reader, self._call_ids, self.tally)

    def stops(self, template: PromptTemplate) -> Sequence[str]:
        """What ends an answer beside the model's own tokens."""
        return _FALLBACK_STOPS if template is self._fallback else ()


def behind_thinking(
    constraint: Constraint | None, tags: ThinkingTags | None, thinking: Thinking, *, inside: bool
) -> Constraint | None:
    """What the answer must look like; thinking before it is free."""
    if constraint is None or tags is None or not (inside or thinking):
        return constraint
    return replace(constraint, after=tags.close, opening="" if inside else tags.open)


def _sampling(options: SamplingOptions, num_ctx: int, stops: Sequence[str]) -> SamplingOptions:
    longest = _MOST_CONTEXTS * num_ctx
    asked = options.num_predict
    return replace(
        options,
        num_predict=longest if asked < 0 or asked > longest else asked,
        stop=(*options.stop, *(stop for stop in stops if stop not in options.stop)),
    )
