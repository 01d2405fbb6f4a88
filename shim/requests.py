"""What a client wants, whatever dialect it speaks: the inner requests.

Plain values. An absent field has its default; the dialect has settled what null and empty values mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from modelfiles.messages import Message, Tool
from modelfiles.templates.switches import Thinking
from runtime.options import Constraint

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What both kinds of requests share.

    `model` is as the client wrote it. `think` None leaves it to the model. `keep_alive` is in seconds,
    negative for ever, None unset. `format` is the wanted structure as JSON text, empty for none.
    `constraint` is another way to say what the answer must look like, and counts where there is no `format`.
    `think_if_able`: thinking is asked for only of a model that can think, and of no other refused.
    `template_variables` go to the chat template. `truncate`: messages and prompts that do not fit may be
    shortened; `shift`: old tokens may be dropped while generating.
    """

    model: str
    think: Thinking = None
    think_if_able: bool = False
    format: str = ""
    constraint: Constraint | None = None
    options: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    template_variables: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    keep_alive: float | None = None
    stream: bool = True
    truncate: bool = True
    shift: bool = True
    logprobs: bool = False
    top_logprobs: int = 0
    debug_render_only: bool = False


@dataclass(frozen=True, slots=True)
class Forced:
    """A tool that the answer must call. `schema`: what its arguments follow, as the client wrote it."""

    name: str
    schema: Mapping[str, object] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(Generation):
    """Answer these messages, perhaps by calling tools.

    `must_call`: the answer has to be a call of one of these; empty leaves it to the model.
    """

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    must_call: tuple[Forced, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest(Generation):
    """Go on after this prompt. `context`: the tokens of what came before, from an earlier answer."""

    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    context: tuple[int, ...] | None = None
    raw: bool = False
    images: tuple[bytes, ...] = ()
