"""Several answers at once: all are closed, whatever happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from modelfiles.messages import ToolCall
from shim.errors import ApiError
from shim.events import Calls, Content, Done, Event
from shim.generation import Outcome, Settled
from shim.requests import ChatRequest
from shim.several import first_call_only, opened
from tests.shim.generating import PLAIN, Generating, chat, generating, say, user
from tests.shim.serving import until


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Generating]:
    async with generating(tmp_path) as made:
        made.add("m", PLAIN)
        yield made


async def let_go(services: Generating) -> None:
    """Unload the model, which only one that nobody holds lets happen."""
    (model,) = services.supervisor.loaded()
    await services.supervisor.unload(model.spec.key)
    await until(lambda: not services.supervisor.loaded())


async def test_all_are_given_back_without_being_read(services: Generating) -> None:
    request = chat("m", say("hi"))
    async with opened((request, request), services.chat.open) as replies:
        assert not isinstance(replies, Settled)
        assert len(replies) == 2
    await let_go(services)


async def test_those_before_a_failure_are_given_back(services: Generating) -> None:
    good, bad = chat("m", say("hi")), chat("m", user("hi"), top_logprobs=99)
    with pytest.raises(ApiError, match="top_logprobs"):
        async with opened((good, bad), services.chat.open):
            pass
    await let_go(services)


async def test_nothing_to_answer() -> None:
    async def settle(request: ChatRequest) -> Outcome:
        return Settled("load")

    async with opened((chat("m"),), settle) as outcome:
        assert outcome == Settled("load")


async def test_only_the_first_call_goes_out() -> None:
    closed = []

    async def source() -> AsyncGenerator[Event, None]:
        try:
            yield Content("a")
            yield Calls((ToolCall("f"), ToolCall("g")))
            yield Calls((ToolCall("h"),))
            yield Done("stop")
        finally:
            closed.append(True)

    found = [event async for event in first_call_only(source())]
    assert found == [Content("a"), Calls((ToolCall("f"),)), Done("stop")]
    assert closed
