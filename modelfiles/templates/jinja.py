"""A model's own chat template: compiled once, probed for what it wants, rendered for every request.

Pure: the moment and the special tokens are arguments. Templates are hostile until proven otherwise; the
sandbox sees to that. Knows nothing of GGUF files.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from types import MappingProxyType
from typing import Any

from jinja2 import Template

from modelfiles.errors import ModelfilesError, TemplateError, TemplateRefused
from modelfiles.messages import Message, Tool, ToolCall
from modelfiles.templates.arrange import Losses, arrangements
from modelfiles.templates.budget import Budget
from modelfiles.templates.conversation import Form, described, message_variables, opened, tool_variables
from modelfiles.templates.guards import format_time
from modelfiles.templates.pairing import pair_results
from modelfiles.templates.sandbox import PromptEnvironment
from modelfiles.templates.switches import Thinking, thinking_variables
from modelfiles.templates.tags import ThinkingTags, opens_thinking, thinking_tags

# What most models were trained on, for a GGUF without a template of its own.
FALLBACK_SOURCE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_NOTHING: Mapping[str, object] = MappingProxyType({})
_PROBED_AT = datetime(2026, 1, 1)  # any moment will do
_PROBE = "nine small otters"
_PROBING_UNITS = 8_000_000
_COUNT = Tool(
    "count",
    {
        "type": "function",
        "function": {
            "name": "count",
            "description": "Counts.",
            "parameters": {"type": "object", "properties": {}, "required": []},
        },
    },
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is rendered. `variables` are further ones from the caller, and win over the thinking switch."""

    messages: tuple[Message, ...]
    now: datetime
    tools: tuple[Tool, ...] = ()
    thinking: Thinking = None
    variables: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    bos: str = ""
    eos: str = ""


class ChatTemplate:
    """One compiled template. Rendering is thread-safe: each has its own environment and budget."""

    def __init__(self, source: str) -> None:
        """Compile and probe. Raises TemplateError."""
        self.source = source
        self.tags: ThinkingTags | None = thinking_tags(source)
        self._environment = PromptEnvironment()
        self._code = self._environment.compile_source(source)
        self._short_ids = "[TOOL_CALLS]" in source
        budget = Budget(_PROBING_UNITS)  # for all attempts together

        def tried(conversation: Conversation, form: Form) -> str:
            try:
                return self._render(conversation, form, budget)
            except TemplateError:
                return ""

        self._form = _find_form(tried)
        self._losses = _find_losses(tried, self._form)

    def render(self, conversation: Conversation) -> str:
        """The prompt's text, up to where the model goes on.

        An assistant message at the end is begun for the model, which continues it. Raises TemplateRefused
        if the template accepts no arrangement of these messages, TemplateError for any other failure.
        """
        *before, last = conversation.messages or (Message("user"),)
        if last.role != "assistant" or last.tool_calls or not before:
            return self._arranged(conversation)
        opened = self._arranged(replace(conversation, messages=tuple(before)))
        return opened + self._begun(opened, last)

    def render_as_given(self, conversation: Conversation) -> str:
        """The prompt's text for these messages and no other arrangement of them. Raises TemplateError."""
        return self._render(conversation, self._form)

    def _begun(self, prompt: str, answer: Message) -> str:
        inside = self.tags is not None and opens_thinking(prompt, self.tags)
        if self.tags is None or not (inside or answer.thinking):
            return answer.content
        opening = "" if inside else f"{self.tags.open}\n"
        if not answer.content:
            return opening + answer.thinking
        return f"{opening}{answer.thinking}\n{self.tags.close}\n\n{answer.content}"

    def _arranged(self, conversation: Conversation) -> str:
        paired = pair_results(conversation.messages, short_ids=self._short_ids)
        first: TemplateError | None = None
        for tools in self._tool_forms(conversation.tools):
            for messages in arrangements(paired, self._losses):
                try:
                    return self._render(replace(conversation, messages=messages, tools=tools), self._form)
                except TemplateError as error:
                    first = first or error
        raise first or TemplateError("there are no messages to render")

    def _tool_forms(self, tools: tuple[Tool, ...]) -> Iterator[tuple[Tool, ...]]:
        yield tools
        if tools:
            yield tuple(map(described, tools))
            yield tuple(map(opened, tools))

    def _render(self, conversation: Conversation, form: Form, budget: Budget | None = None) -> str:
        variables = {
            "datetime": f"{conversation.now:%b %d %Y %H:%M:%S}",
            **thinking_variables(self.source, conversation.thinking),
            **conversation.variables,
            "messages": message_variables(conversation.messages, form),
            **tool_variables(conversation.tools, form),
            "add_generation_prompt": True,
            "bos_token": conversation.bos,
            "eos_token": conversation.eos,
        }
        environment = self._environment.for_rendering(budget or Budget.for_input(variables))
        return _run(self._template(environment, conversation.now), variables)

    def _template(self, environment: PromptEnvironment, now: datetime) -> Template:
        functions: dict[str, Any] = {
            "raise_exception": _refuse,
            "strftime_now": lambda text: format_time(environment.budget, now, text),
        }
        return Template.from_code(environment, self._code, {**environment.globals, **functions})


def _run(template: Template, variables: Mapping[str, object]) -> str:
    try:
        return "".join(template.root_render_func(template.new_context(dict(variables))))
    except ModelfilesError:
        raise
    except Exception as error:
        # Templates are programs: anything may come out of them, and all of it is the template's failure.
        raise TemplateError(f"the chat template failed: {str(error) or type(error).__name__}") from error


def _refuse(message: object = "") -> None:
    raise TemplateRefused(f"the chat template refuses these messages: {message}")


def _find_losses(render: Callable[[Conversation, Form], str], form: Form) -> Losses:
    """Try which messages do not reach the text although the template does not refuse them."""
    asked, answer, told = Message("user", "Q"), Message("assistant", "A"), Message("system", _PROBE)
    call = Message("assistant", tool_calls=(ToolCall("count", {}, id="000000001"),))

    def result(content: str) -> Message:
        return Message("tool", content, tool_name="count", tool_call_id="000000001")

    def loses(*messages: Message) -> bool:
        # Some show results only beside the tools themselves.
        tried = [Conversation(messages, _PROBED_AT, tools) for tools in ((), (_COUNT,))]
        texts = [text for conversation in tried if (text := render(conversation, form))]
        return bool(texts) and not any(_PROBE in text for text in texts)

    return Losses(
        system=loses(told, asked),
        late_system=loses(asked, answer, told, asked),
        system_before_results=loses(told, asked, call, result("R")),
        results=loses(asked, call, result(_PROBE)),
    )


def _find_form(render: Callable[[Conversation, Form], str]) -> Form:
    """Try which shape of content and arguments reaches the text; what makes no difference stays as it is."""
    asked = Conversation((Message("user", _PROBE),), _PROBED_AT)
    choices = product((False, True), repeat=2)
    forms = [Form(content_as_parts=parts, tools_as_list=listed) for parts, listed in choices]
    form = next((form for form in forms if _PROBE in render(asked, form)), Form())
    call = ToolCall("count", {"probe": _PROBE}, id="000000001")
    called = replace(asked, messages=(*asked.messages, Message("assistant", tool_calls=(call,))))
    # A template that wants text prints an object as Python would.
    if _tells_call(render(called, form)):
        return form
    text = replace(form, arguments_as_text=True)
    return text if _tells_call(render(called, text)) else form


def _tells_call(prompt: str) -> bool:
    return prompt.count(_PROBE) > 1 and f"{{'probe': '{_PROBE}'}}" not in prompt
