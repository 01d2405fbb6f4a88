"""What an answer consists of, whatever dialect it is told in: the inner stream.

Any number of Content, Thinking and Calls, then exactly one Done. Log probabilities come with the item whose
tokens they belong to; where the text of a token is held back, an empty Content carries them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob

Reason: TypeAlias = Literal["stop", "length", "repetition", "load", "unload"]


class Content(Struct, frozen=True):
    """Text for the user."""

    text: str
    logprobs: list[TokenLogprob] = []


class Thinking(Struct, frozen=True):
    """Text that the model wrote for itself."""

    text: str
    logprobs: list[TokenLogprob] = []


class Calls(Struct, frozen=True):
    """Calls of tools, with ids, counted from 0 through the whole answer."""

    calls: tuple[ToolCall, ...]
    logprobs: list[TokenLogprob] = []


class Metrics(Struct, frozen=True):
    """Durations in nanoseconds. `prompt_tokens` includes those that came from the cache."""

    total_ns: int
    load_ns: int
    prompt_tokens: int
    prompt_ns: int
    generated_tokens: int
    generate_ns: int


class Done(Struct, frozen=True):
    """The end. `reason` "repetition": the model wrote the same piece over and over and was stopped.

    `context` holds the tokens of prompt and answer, where they were asked for.
    """

    reason: Reason
    metrics: Metrics | None = None
    context: list[int] | None = None


Event: TypeAlias = Content | Thinking | Calls | Done
