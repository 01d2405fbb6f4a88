"""Where blocking work meets the event loop: threads for the store, and progress that comes out as a stream.

Quick work (reading manifests) and long work (hashing gigabytes) have threads of their own, so that a list is
never kept waiting by imports. Knows nothing of what the work is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Generic, ParamSpec, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_QUICK_THREADS = 4
_LONG_THREADS = 8


class Abandoned(Exception):
    """Raised inside the work, out of its `report`, when the reader of its progress has gone."""


class Threads:
    """The threads for blocking work. After `close`, work that has progress ends at its next report."""

    def __init__(self) -> None:
        self._closing = threading.Event()
        self._quick = ThreadPoolExecutor(_QUICK_THREADS, thread_name_prefix="quick")
        self._long = ThreadPoolExecutor(_LONG_THREADS, thread_name_prefix="long")

    async def run(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """The result of work that takes milliseconds."""
        return await asyncio.wrap_future(self._quick.submit(work, *args, **kwargs))

    async def run_long(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """The result of work that may take minutes."""
        return await asyncio.wrap_future(self._long.submit(work, *args, **kwargs))

    async def run_through(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Like `run_long`, but a cancelled caller goes on only when the work has ended."""
        running = asyncio.ensure_future(self.run_long(work, *args, **kwargs))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    def progress(self, work: Callable[[Callable[[Item], None]], None]) -> AsyncGenerator[Item, None]:
        """Everything that `work` reports while it runs; its error, if any, comes after the last report."""
        return _Progress(self._long, work, self._closing).items()

    def close(self) -> None:
        self._closing.set()
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._long.shutdown(wait=False, cancel_futures=True)


class _Progress(Generic[Item]):
    """One piece of work on a thread and the queue of what it reports."""

    def __init__(
        self, executor: Executor, work: Callable[[Callable[[Item], None]], None], closing: threading.Event
    ) -> None:
        self._executor = executor
        self._work = work
        self._closing = closing
        self._queue: asyncio.Queue[Item | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._abandoned = False

    async def items(self) -> AsyncGenerator[Item, None]:
        future = self._executor.submit(self._run)
        try:
            while (item := await self._queue.get()) is not None:
                yield item
            await asyncio.wrap_future(future)
        finally:
            self._abandoned = True

    def _run(self) -> None:
        try:
            self._work(self._report)
        except Abandoned:
            pass
        finally:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)

    def _report(self, item: Item) -> None:
        """Called on the thread; the place where abandoned work learns of it."""
        if self._abandoned or self._closing.is_set():
            raise Abandoned
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
