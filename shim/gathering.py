"""A whole answer out of the inner stream, for dialects that tell it at once. Knows no dialect."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob
from shim.events import Calls, Content, Done, Event, Thinking


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is not streamed."""

    content: str
    thinking: str
    calls: tuple[ToolCall, ...]
    logprobs: tuple[TokenLogprob, ...]
    done: Done


async def gather(events: AsyncGenerator[Event, None]) -> Whole:
    """Read an answer to its end; closes `events`, and lets its errors pass."""
    content: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    logprobs: list[TokenLogprob] = []
    done = Done("stop")
    async with contextlib.aclosing(events):
        async for event in events:
            match event:
                case Content():
                    content.append(event.text)
                case Thinking():
                    thinking.append(event.text)
                case Calls():
                    calls += event.calls
                case Done():
                    done = event
                    continue
            logprobs += event.logprobs
    return Whole("".join(content), "".join(thinking), tuple(calls), tuple(logprobs), done)
