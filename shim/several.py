"""Several answers at once: opened together, and all closed whatever happens. Knows no dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from modelfiles.messages import ToolCall
from shim.errors import server_error
from shim.events import Calls, Event
from shim.generation import Outcome, Settled
from shim.reply import Reply
from shim.requests import Generation

Asked = TypeVar("Asked", bound=Generation)


@asynccontextmanager
async def opened(
    requests: Sequence[Asked], open_one: Callable[[Asked], Awaitable[Outcome]]
) -> AsyncGenerator[list[Reply] | Settled, None]:
    """A reply to each, or that nothing is to be answered. Raises what the service raises."""
    replies: list[Reply] = []
    try:
        for request in requests:
            outcome = await open_one(request)
            if isinstance(outcome, Settled):
                yield outcome
                return
            if not isinstance(outcome, Reply):
                raise server_error("the prompt was to be answered, and was only shown")
            replies.append(outcome)
        yield replies
    finally:
        for reply in replies:
            reply.close()


async def first_call_only(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The answer without the calls behind its first, for clients that carry out one at a time."""
    called = False
    try:
        async for event in events:
            if isinstance(event, Calls):
                kept: tuple[ToolCall, ...] = () if called else event.calls[:1]
                called = True
                if not kept:
                    continue
                event = Calls(kept, event.logprobs)
            yield event
    finally:
        await events.aclose()
