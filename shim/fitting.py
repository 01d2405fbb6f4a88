"""Shortens a conversation until its prompt fits, with as little counting of tokens as can be.

How text becomes tokens is asked from outside; it is what takes the time. Knows no store, no engine and no
dialect.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.jinja import Conversation


class Tokenizer(Protocol):
    """Who knows the vocabulary; see `runtime.lease.Lease`."""

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        """Token ids."""
        ...


# A token covers at least one byte of text; vocabularies may add a few on their own.
_ADDED_TOKENS = 16
_CHARACTERS_A_TOKEN = 4.0  # about, in many languages; only where the search begins depends on it
_MOST_GUESSES = 6


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt's text. `ids` are its tokens, None where it is so short that nobody had to count them."""

    text: str
    ids: list[int] | None = None
    dropped: int = 0

    @property
    def tokens(self) -> int | None:
        """How many, where they were counted."""
        return None if self.ids is None else len(self.ids)


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
        text = await self._render(0)
        last = len(self._conversation.messages) - 1
        if last < 1 or self._is_short(text):
            return await self._counted(text, 0)
        search = _Search(self._conversation.messages, len(text), self._num_ctx)
        found: dict[int, Rendered] = {}
        while search.low < search.high:
            first = search.probe()
            rendered = await self._tried(text if first == 0 else None, first)
            fits = rendered is not None and self._fits(rendered)
            if rendered is not None and fits:
                found[first] = rendered
            search.learn(first, rendered, fits=fits)
        return found.get(search.high) or await self._counted(await self._render(search.high), search.high)

    async def whole(self) -> Rendered:
        """The prompt with all messages, however long. Raises TemplateError."""
        return await self._counted(await self._render(0), 0)

    async def _tried(self, text: str | None, first: int) -> Rendered | None:
        """None for a conversation that the template refuses when it begins there: as good as too long."""
        try:
            return await self._counted(await self._render(first) if text is None else text, first)
        except TemplateError:
            return None

    def _fits(self, rendered: Rendered) -> bool:
        return rendered.tokens is None or rendered.tokens < self._num_ctx

    async def _render(self, first: int) -> str:
        """On a thread: a long conversation takes a while, and templates are not to be trusted."""
        messages = from_message(self._conversation.messages, first)
        return await asyncio.to_thread(self._template.render, replace(self._conversation, messages=messages))

    async def _counted(self, text: str, first: int) -> Rendered:
        special = adds_special(text, self._conversation.bos)
        ids = None if self._is_short(text) else await self._tokenizer.tokenize(text, special)
        dropped = len(self._conversation.messages) - len(from_message(self._conversation.messages, first))
        return Rendered(text, ids, dropped)

    def _is_short(self, text: str) -> bool:
        if len(text) > self._num_ctx:
            return False
        return len(text.encode("utf-8", "replace")) + _ADDED_TOKENS <= self._num_ctx


class _Search:
    """Looks for the first message of the longest conversation that fits; it is from `low` to `high`.

    The beginning is guessed from how many characters there are and, once one prompt was counted, from how
    many of them a token has. After a few guesses it goes on in growing steps and in halves.
    """

    def __init__(self, messages: Sequence[Message], characters: int, num_ctx: int) -> None:
        self.low, self.high = 0, len(messages) - 1
        # What stands around the messages' texts is taken to be the same for all.
        around = max(0, characters - sum(map(_size, messages))) / len(messages)
        gone = (0 if message.role == "system" else _size(message) + around for message in messages)
        # How many characters are gone when the conversation begins at each message.
        self._gone = [0.0, *accumulate(gone)]
        self._characters = float(characters)
        self._num_ctx = num_ctx
        self._rate = _CHARACTERS_A_TOKEN
        self._guesses = 0
        self._seen: set[bool] = set()

    def probe(self) -> int:
        """Where to look next."""
        self._guesses += 1
        if self._guesses > _MOST_GUESSES:
            return self._without_guessing()
        too_many = self._characters - self._rate * self._num_ctx
        return min(max(bisect_left(self._gone, too_many), self.low), self.high - 1)

    def _without_guessing(self) -> int:
        """Between one that fits and one that does not, the middle; else further and further away."""
        if self._seen == {True, False}:
            return (self.low + self.high) // 2
        step = 1 << (self._guesses - _MOST_GUESSES)
        return max(self.low, self.high - step) if True in self._seen else min(self.high - 1, self.low + step)

    def learn(self, first: int, rendered: Rendered | None, *, fits: bool) -> None:
        """What came of it."""
        self._seen.add(fits)
        if fits:
            self.high = first
        else:
            self.low = first + 1
        if rendered is None:
            return
        # The nearest prompt tells best what is around the rest.
        self._characters = len(rendered.text) + self._gone[first]
        self._rate = len(rendered.text) / rendered.tokens if rendered.tokens else self._rate * 2


def _size(message: Message) -> int:
    calls = sum(len(str(call.arguments)) for call in message.tool_calls)
    return len(message.content) + len(message.thinking) + calls


def adds_special(text: str, bos: str) -> bool:
    """Whether the vocabulary may put its own tokens around a prompt; a begin sign is not put there twice."""
    return not (bos and text.startswith(bos))


def from_message(messages: Sequence[Message], first: int) -> tuple[Message, ...]:
    """The messages from that one on, behind all system messages before it."""
    system = (message for message in messages[:first] if message.role == "system")
    return (*system, *messages[first:])
