"""Many clients do everything at once; whatever happens, nobody hangs and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import random
import signal

import pytest

from runtime.errors import RuntimeFailure
from runtime.options import LoadOptions
from tests.runtime.servers import SETTINGS, Server, model, running
from tests.runtime.workers import PATIENCE_SECONDS

NAMES = "abcd"
OVERRIDES: tuple[dict[str, int | float | bool | str], ...] = (
    {}, {}, {}, {"fake.load_die": "SIGKILL"}, {"fake.load_fail": "out_of_memory"},
)  # fmt: skip
PROMPTS = ("[[fake:words=20]]", "[[fake:words=3]] [[fake:delay=0.001]]", "[[fake:die=SIGSEGV@3]]")

pytestmark = pytest.mark.slow


async def client(server: Server, dice: random.Random) -> None:
    """One request with random options, read to its end or only in part."""
    options = LoadOptions(num_ctx=dice.choice([1024, 2048]), kv_overrides=dice.choice(OVERRIDES))
    explicit, keep_alive = dice.choice(["", "num_ctx"]), dice.choice([None, 0, 60, -1])
    with contextlib.suppress(RuntimeFailure):
        async with await server.lease(model(dice.choice(NAMES)), options, explicit, keep_alive) as lease:
            for _ in range(dice.randint(0, 2)):
                async for _event in lease.generate(dice.choice(PROMPTS)):
                    if dice.random() < 0.05:
                        break


async def disturb(server: Server, dice: random.Random, tasks: list[asyncio.Task[None]]) -> None:
    """Cancel, let time pass, unload, kill; or none of it."""
    if dice.random() < 0.2:
        dice.choice(tasks).cancel()
    if dice.random() < 0.2:
        server.clock.advance(61)
    if dice.random() < 0.1:
        await server.supervisor.unload(f"{dice.choice(NAMES)}:latest")
    views = [view for view in server.supervisor.loaded() if view.pid]
    if views and dice.random() < 0.1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(dice.choice(views).pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm(seed: int) -> None:
    dice = random.Random(seed)
    settings = dataclasses.replace(SETTINGS, max_loaded=2, num_parallel=2, max_queue=10)
    async with running(settings) as server:
        tasks: list[asyncio.Task[None]] = []
        for _ in range(60):
            tasks.append(asyncio.create_task(client(server, dice)))
            await disturb(server, dice, tasks)
            busy = [task for task in tasks if not task.done()]
            if len(busy) > 6:
                await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
        async with asyncio.timeout(PATIENCE_SECONDS):
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
        assert all(view.in_flight == 0 for view in server.supervisor.loaded())
    assert asyncio.all_tasks() == {asyncio.current_task()}
