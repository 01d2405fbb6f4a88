"""Blocking work and its progress on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from shim.bridge import Abandoned, Threads


@pytest.fixture
def threads() -> Threads:
    return Threads()


async def test_results_and_errors_come_back(threads: Threads) -> None:
    assert await threads.run(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await threads.run_long(divmod, 7, 0)


async def test_progress_comes_in_order_and_ends(threads: Threads) -> None:
    def work(report: Callable[[int], None]) -> None:
        for number in range(100):
            report(number)

    assert [item async for item in threads.progress(work)] == list(range(100))


async def test_an_error_comes_after_the_last_report(threads: Threads) -> None:
    def work(report: Callable[[str], None]) -> None:
        report("first")
        raise KeyError("broken")

    items = threads.progress(work)
    assert await anext(items) == "first"
    with pytest.raises(KeyError, match="broken"):
        await anext(items)


async def test_work_whose_reader_has_gone_is_stopped(threads: Threads) -> None:
    go_on, stopped = threading.Event(), threading.Event()

    def work(report: Callable[[str], None]) -> None:
        report("first")
        go_on.wait(10)
        try:
            report("second")
        except Abandoned:
            stopped.set()
            raise

    items = threads.progress(work)
    assert await anext(items) == "first"
    await items.aclose()
    go_on.set()
    assert await threads.run(stopped.wait, 10)


async def test_closing_stops_work_at_its_next_report(threads: Threads) -> None:
    ended = threading.Event()

    def work(report: Callable[[int], None]) -> None:
        try:
            while True:
                report(1)
        finally:
            ended.set()

    items = threads.progress(work)
    assert await anext(items) == 1
    threads.close()
    assert await asyncio.to_thread(ended.wait, 10)
    await items.aclose()


async def test_long_work_does_not_hold_up_quick_work(threads: Threads) -> None:
    done = threading.Event()

    def work(report: Callable[[int], None]) -> None:
        report(1)
        done.wait(10)

    readers = [threads.progress(work) for _ in range(20)]
    assert [await anext(reader) for reader in readers[:8]] == [1] * 8
    assert await threads.run(len, "abc") == 3
    done.set()
    for reader in readers:
        await reader.aclose()


async def test_a_cancelled_caller_waits_for_work_that_must_not_be_left_alone(threads: Threads) -> None:
    started, go_on = threading.Event(), threading.Event()
    ended: list[bool] = []

    def work() -> None:
        started.set()
        ended.append(go_on.wait(10))

    async def cancel_soon(task: asyncio.Task[None]) -> None:
        await threads.run(started.wait, 10)
        task.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)

    task = asyncio.create_task(threads.run_through(work))
    await cancel_soon(task)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]
