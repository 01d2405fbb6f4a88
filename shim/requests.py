"""What a client wants, whatever dialect it speaks: the inner requests.

Plain values. An absent field has its default; the dialect has settled what null and empty values mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from modelfiles.messages import Message, Tool
from modelfiles.templates.switches import Thinking

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What both kinds of requests share.

    `model` is as the client wrote it. `think` None leaves it to the model. `keep_alive` is in seconds,
    negative for ever, None unset. `format` is the wanted structure as JSON text, empty for none.
    `template_variables` go to the chat template. `truncate`: messages and prompts that do not fit may be
    shortened; `shift`: old tokens may be dropped while generating.
    """

    model: str
    think: Thinking = None
    format: str = ""
    options: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    template_variables: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    keep_alive: float | None = None
    stream: bool = True
    truncate: bool = True
    shift: bool = True
    logprobs: bool = False
    top_logprobs: int = 0
    debug_render_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(Generation):
    """Answer these messages, perhaps by calling tools."""

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()


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
