"""The line of those who wait for a model."""

from __future__ import annotations

import asyncio

import pytest

from runtime.errors import LoadFailed, QueueFull
from runtime.lease import Lease
from runtime.options import LoadOptions
from runtime.waiting import Waiter, WaitingLine
from tests.runtime.servers import model


def waiter(name: str = "one", num_ctx: int = 4096, explicit: str = "") -> Waiter:
    answer: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
    options = LoadOptions(num_ctx=num_ctx)
    return Waiter(model(name), options, frozenset(explicit.split()), None, answer)


async def test_first_in_first_out_and_whoever_left_is_skipped() -> None:
    line = WaitingLine(10)
    first, second, third = waiter(), waiter(), waiter()
    for one in (first, second, third):
        line.join(one)
    line.leave(first)
    line.leave(first)
    assert line.first() is second
    assert list(line) == [second, third]


async def test_the_limit_counts_those_who_wait_now() -> None:
    line = WaitingLine(2)
    first = waiter()
    line.join(first)
    line.join(waiter())
    with pytest.raises(QueueFull):
        line.join(waiter())
    line.leave(first)
    line.join(waiter())
    assert len(line) == 2


async def test_a_failure_reaches_those_it_concerns() -> None:
    line = WaitingLine(10)
    mine, same, other = waiter(), waiter(), waiter("two")
    cancelled = waiter()
    for one in (mine, same, other, cancelled):
        line.join(one)
    cancelled.answer.cancel()
    line.fail(LoadFailed("bad_model", "no"), lambda one: one.content_with(mine))
    for one in (mine, same):
        with pytest.raises(LoadFailed):
            await one.answer
    assert list(line) == [other]
    assert not other.answer.done()


@pytest.mark.parametrize(
    ("num_ctx", "explicit", "content"),
    [(4096, "num_ctx", True), (2048, "", True), (8192, "", False), (8192, "num_ctx", False)],
)
async def test_who_is_content_with_anothers_load(num_ctx: int, explicit: str, content: bool) -> None:
    assert waiter("one", num_ctx, explicit).content_with(waiter()) is content
    assert not waiter("two", num_ctx, explicit).content_with(waiter())
