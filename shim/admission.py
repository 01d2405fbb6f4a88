"""Whether a model can serve a request, and with which options. The words are Ollama's.

The order of the checks is part of the contract: capabilities before options, and all of it before anything is
loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from modelfiles.capabilities import parser_of
from modelfiles.messages import Message, Tool
from modelfiles.package import Package
from modelfiles.replies.blocks import Style
from modelfiles.replies.builtin import is_renderer
from modelfiles.replies.choice import check_parsers, choose_style, choose_tags, is_detected
from modelfiles.replies.generic import GenericStyle
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.switches import Thinking, thinking_variables
from modelfiles.templates.tags import ThinkingTags
from runtime.events import EngineInfo
from runtime.supervisor import ModelSpec
from shim.errors import bad_request, go_quoted, server_error
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

    def tags(self, template: PromptTemplate) -> ThinkingTags | None:
        """Between which tags the answer may think.

        As in Ollama, thinking of a model with a TEMPLATE and no parser is read only where it is asked for.
        """
        setting = self.options.reply.reasoning_parser
        builtin = parser_of(self.target.package, template.source)
        if not isinstance(template, GoPrompt):
            return choose_tags(setting, template.source, builtin=builtin)
        return choose_tags(setting, template.tags if self.thinking else None, builtin=builtin)

    def style(self, template: PromptTemplate, tools: tuple[Tool, ...]) -> Style | GenericStyle | None:
        """How the model writes calls of these tools."""
        if not tools:
            return None
        setting = self.options.reply.tool_call_parser
        builtin = parser_of(self.target.package, template.source)
        # A TEMPLATE always tells, if only what stands before the calls.
        known = "" if isinstance(template, GoPrompt) else self.target.package.config.model_family
        style = choose_style(setting, template.source, builtin=builtin, architecture=known)
        if style is not None or not is_detected(setting):
            return style
        if isinstance(template, GoPrompt):
            return GenericStyle(template.tool_call_tag)
        LOG.info(
            "%s: no known way of writing tool calls in its template, so they stay text; "
            "PARAMETER tool_call_parser names one",
            self.target.package.name.display,
        )
        return None


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


def check_insert(target: Target, info: EngineInfo) -> None:
    """ApiError where neither a TEMPLATE nor the vocabulary can ask for text between two others."""
    if target.templates.inserting() is None and min(info.fim_prefix, info.fim_suffix, info.fim_middle) < 0:
        raise bad_request(f"{target.package.name.full} does not support insert")


def check_renderer(package: Package) -> None:
    """A renderer that Ollama does not know is an error there too, once it is needed. ApiError."""
    renderer = package.config.renderer
    if renderer and not is_renderer(renderer):
        raise server_error(f"unknown renderer {go_quoted(renderer)}")


def check_images(messages: Iterable[Message]) -> None:
    """ApiError where there are any."""
    if any(message.images for message in messages):
        raise bad_request("image input is not supported by this version; send text only")


def runnable(target: Target) -> ModelSpec:
    """What is to be loaded. ApiError for a package that this server cannot run as it was made."""
    if target.spec is None:
        raise bad_request(
            f"{go_quoted(target.requested)} has no GGUF weights, and other formats cannot be run here"
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
