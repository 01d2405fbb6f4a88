"""The prompt of a request: Modelfile content merged in, history shortened until it fits, template rendered.

How text becomes tokens is asked from outside. Knows no store, no engine and no dialect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.package import Package
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.jinja import Conversation
from modelfiles.templates.tags import THINK

Messages = tuple[Message, ...]


class Tokenizer(Protocol):
    """Who knows the vocabulary; see `runtime.lease.Lease`."""

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        """Token ids."""
        ...


# A token covers at least one byte of text; vocabularies may add a few on their own.
_ADDED_TOKENS = 16
_FORGETS_THINKING = ("qwen3",)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt's text. `tokens` is None where the text is so short that nobody had to count."""

    text: str
    tokens: int | None = None
    dropped: int = 0


def merge_messages(package: Package, asked: Messages) -> Messages:
    """The model's SYSTEM and MESSAGE list in front; a request that begins with system text has its own."""
    asked = tuple(map(_known_role, asked))
    has_own = bool(asked) and asked[0].role == "system"
    opening = (Message("system", package.system),) if package.system and not has_own else ()
    merged = opening + package.messages + asked
    forgets = package.config.model_family in _FORGETS_THINKING or package.name.model == "deepseek-r1"
    return forget_thinking(merged) if forgets else merged


def generate_messages(package: Package, prompt: Message, system: str, *, with_history: bool) -> Messages:
    """A prompt as a conversation; a request's own system text replaces the model's."""
    text = system or package.system
    history = package.messages if with_history else ()
    return ((Message("system", text),) if text else ()) + history + (prompt,)


def go_on(before: str, prompt: str, bos: str) -> str:
    """`prompt` behind the text of an earlier context.

    `bos` is the token that vocabularies put in front of everything, empty for those that do not; it opens
    the earlier text already. For some models it is also what opens every message, and then it stays.
    """
    return before + prompt.removeprefix(bos) if before.startswith(bos) else before + prompt


def forget_thinking(messages: Messages) -> Messages:
    """Without the thinking that opens answers before the last user message."""
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    last = users[-1] if users else 0
    return tuple(
        replace(message, content=_without_thinking(message.content))
        if message.role == "assistant" and index < last
        else message
        for index, message in enumerate(messages)
    )


def _without_thinking(content: str) -> str:
    stripped = content.lstrip()
    if not stripped.startswith(THINK.open):
        return content
    return stripped.partition(THINK.close)[2].strip()


def _known_role(message: Message) -> Message:
    return replace(message, role="system") if message.role == "developer" else message


class ContextFitter:
    """Renders a conversation so that it leaves room in `num_ctx` tokens, less old messages if need be.

    System messages all stay, in front, and so does the last message, even if it is too long by itself.
    """

    def __init__(
        self, template: PromptTemplate, conversation: Conversation, num_ctx: int, tokenizer: Tokenizer
    ) -> None:
        self._template = template
        self._conversation = conversation
        self._num_ctx = num_ctx
        self._tokenizer = tokenizer

    async def fit(self) -> Rendered:
        """The prompt with as many messages as fit. Raises TemplateError."""
        whole = await self._rendered(0)
        last = len(self._conversation.messages) - 1
        if self._fits(whole) or last < 1:
            return whole
        low, high = 1, last
        while low < high:
            middle = (low + high) // 2
            if await self._would_fit(middle):
                high = middle
            else:
                low = middle + 1
        return await self._rendered(low)

    async def whole(self) -> Rendered:
        """The prompt with all messages, however long. Raises TemplateError."""
        return await self._rendered(0)

    async def _would_fit(self, first: int) -> bool:
        """A conversation that the template refuses when it begins there is as good as too long."""
        try:
            return self._fits(await self._rendered(first))
        except TemplateError:
            return False

    def _fits(self, rendered: Rendered) -> bool:
        return rendered.tokens is None or rendered.tokens < self._num_ctx

    async def _rendered(self, first: int) -> Rendered:
        messages = from_message(self._conversation.messages, first)
        # On a thread: a long conversation takes a while, and templates are not to be trusted.
        text = await asyncio.to_thread(self._template.render, replace(self._conversation, messages=messages))
        return Rendered(text, await self._count(text), len(self._conversation.messages) - len(messages))

    async def _count(self, text: str) -> int | None:
        if (
            len(text) <= self._num_ctx
            and len(text.encode("utf-8", "replace")) + _ADDED_TOKENS <= self._num_ctx
        ):
            return None
        return len(await self._tokenizer.tokenize(text))


def from_message(messages: Sequence[Message], first: int) -> Messages:
    """The messages from that one on, behind all system messages before it."""
    system = (message for message in messages[:first] if message.role == "system")
    return (*system, *messages[first:])
