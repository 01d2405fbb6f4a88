"""Whether a model can serve a request, and with which options. The words are Ollama's.

The order of the checks is part of the contract: capabilities before options, and all of it before anything is
loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from modelfiles.messages import Message, Tool
from modelfiles.package import Package
from modelfiles.replies.blocks import Style
from modelfiles.replies.choice import check_parsers, choose_style, choose_tags
from modelfiles.templates.switches import Thinking, thinking_variables
from modelfiles.templates.tags import ThinkingTags
from runtime.supervisor import ModelSpec
from shim.errors import bad_request, go_quoted
from shim.options import Merged, OptionDefaults, ReplyOptions, merge
from shim.requests import GenerateRequest, Generation
from shim.resolve import Target

LOG = logging.getLogger("shim.admission")
_MOST_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that its model can serve. `began_ns`: when it came, monotonic."""

    request: Generation
    target: Target
    spec: ModelSpec
    options: Merged
    thinking: Thinking
    began_ns: int

    def template_variables(self) -> Mapping[str, object]:
        """For the chat template: the model's own, which give way to a thinking switch in the request."""
        of_model = dict(self.options.reply.chat_template_kwargs)
        if self.request.think is not None:
            for name in thinking_variables("", self.request.think):
                of_model.pop(name, None)
        return {**of_model, **self.request.template_variables}

    def tags(self, template_source: str) -> ThinkingTags | None:
        """Between which tags the answer may think."""
        return choose_tags(self.options.reply.reasoning_parser, template_source)

    def style(self, template_source: str, tools: tuple[Tool, ...]) -> Style | None:
        """How the model writes calls of these tools."""
        if not tools:
            return None
        setting, builtin = self.options.reply.tool_call_parser, self.target.package.config.parser
        style = choose_style(setting, template_source, builtin=builtin)
        if style is None and setting is None:
            LOG.info(
                "%s: no known way of writing tool calls in its template, so they stay text; "
                "PARAMETER tool_call_parser names one",
                self.target.package.name.display,
            )
        return style


def admit(
    request: Generation,
    target: Target,
    defaults: OptionDefaults,
    began_ns: int,
    *,
    purpose: str,
    tools: bool = False,
) -> Admitted:
    """`purpose` is "chat" or "generate"; `tools` tells whether the request brings some. ApiError."""
    check_thinking(target, request.think)
    check_capabilities(target, purpose=purpose, tools=tools)
    spec = runnable(target)
    options = merge(defaults, target.package.parameters, request.options)
    check_parsers(
        {
            "tool_call_parser": options.reply.tool_call_parser,
            "reasoning_parser": options.reply.reasoning_parser,
        }
    )
    thinking = effective_thinking(request.think, options.reply, target.capabilities)
    return Admitted(request, target, spec, options, thinking, began_ns)


def check_request(request: Generation) -> None:
    """Refuse what no model could do. ApiError."""
    if not 0 <= request.top_logprobs <= _MOST_LOGPROBS:
        raise bad_request(f"top_logprobs must be between 0 and {_MOST_LOGPROBS}")
    not_yet = {"format": request.format}
    if isinstance(request, GenerateRequest):
        not_yet |= {"suffix": request.suffix, "template": request.template}
    for name, value in not_yet.items():
        if value:
            raise bad_request(f"{name} is not supported by this version; leave it out")


def check_raw(request: GenerateRequest) -> None:
    """A raw prompt takes nothing that a template would place. ApiError."""
    if request.raw and (request.template or request.system or request.context):
        raise bad_request("raw mode does not support template, system, or context")


def check_thinking(target: Target, think: Thinking) -> None:
    """Switching thinking off is always accepted. ApiError."""
    if think and "thinking" not in target.capabilities:
        raise bad_request(f"{go_quoted(target.requested)} does not support thinking")


def check_capabilities(target: Target, *, purpose: str, tools: bool) -> None:
    """ApiError for what the model cannot do."""
    if "image" in target.capabilities:
        raise bad_request("image generation models are not currently supported")
    if "completion" not in target.capabilities and target.spec is not None:
        raise bad_request(f"{go_quoted(target.requested)} does not support {purpose}")
    if tools and "tools" not in target.capabilities:
        raise bad_request(f"{target.package.name.full} does not support tools")


def check_images(messages: Iterable[Message]) -> None:
    """ApiError where there are any."""
    if any(message.images for message in messages):
        raise bad_request("image input is not supported by this version; send text only")


def runnable(target: Target) -> ModelSpec:
    """What is to be loaded. ApiError for a package that this server cannot run as it was made."""
    package: Package = target.package
    if target.spec is None:
        raise bad_request(
            f"{go_quoted(target.requested)} has no GGUF weights, and other formats cannot be run here"
        )
    if package.adapters:
        raise bad_request(
            f"{go_quoted(target.requested)} has an ADAPTER, which this version cannot apply; "
            "create the model without it"
        )
    return target.spec


def effective_thinking(think: Thinking, reply: ReplyOptions, capabilities: Collection[str]) -> Thinking:
    """What the request says, else the model's own setting, else on for a model that can think."""
    if think is not None:
        return think
    of_template = reply.chat_template_kwargs.get("enable_thinking")
    for setting in (reply.enable_thinking, of_template):
        if isinstance(setting, bool):
            return setting
    return True if "thinking" in capabilities else None
