"""Real worker processes with the fake engine, for the tests of everything above them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from runtime import events
from runtime.events import Finished, Submit
from runtime.options import LoadOptions
from runtime.process import WorkerProcess, start_worker

FAKE_WORKER = (sys.executable, "-m", "runtime.worker", "--engine", "fake")
PATIENCE_SECONDS = 60.0


def exists(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not count."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return _exists_without_proc(pid)


def _exists_without_proc(pid: int) -> bool:
    if os.path.exists("/proc/self/stat"):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something outside of this event loop; fails the test when it never comes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - another process changes it, so there is no event to wait for
            await asyncio.sleep(0.005)


@asynccontextmanager
async def fake_worker(options: LoadOptions | None = None) -> AsyncIterator[WorkerProcess]:
    """A worker with a "model" loaded."""
    worker = await start_worker(FAKE_WORKER)
    try:
        message = events.Load("/nowhere/model.gguf", options or LoadOptions(), "llama")
        await worker.load(message, None, lambda fraction: None)
        yield worker
    finally:
        await worker.stop()


async def collect(worker: WorkerProcess, submit: Submit) -> tuple[str, Finished]:
    """The whole text of a request, and its end."""
    text = ""
    async for event in worker.generate(submit):
        text += event.text
        if isinstance(event, Finished):
            return text, event
    raise AssertionError("the stream ended without a Finished")
