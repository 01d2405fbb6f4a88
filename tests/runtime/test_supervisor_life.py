"""How long models stay, and what happens when their workers die."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from runtime.errors import WorkerDied
from runtime.runners import PING_AFTER_SECONDS
from tests.runtime.servers import Server, model, outcome, read, running
from tests.runtime.workers import exists, until

ONE, TWO = model("one"), model("two")
FOREVER = "[[fake:forever]] [[fake:delay=0.001]]"


async def gone(server: Server, pid: int) -> None:
    await until(lambda: not server.shown() and not exists(pid))


async def test_a_model_leaves_when_its_time_has_come() -> None:
    async with running() as server:
        await server.say(ONE)
        [pid] = server.pids()
        server.clock.advance(299)
        assert server.pids() == [pid]
        assert not server.shown()["one"].stopping
        server.clock.advance(1)
        assert server.shown()["one"].stopping
        await gone(server, pid)


async def test_the_time_starts_anew_with_every_request() -> None:
    async with running() as server:
        await server.say(ONE)
        for _ in range(3):
            server.clock.advance(200)
            await server.say(ONE)
        assert server.clock.pending == [300.0]
        assert not server.shown()["one"].stopping


async def test_no_time_runs_while_a_request_is_in_flight() -> None:
    async with running() as server:
        async with await server.lease(ONE) as lease:
            server.clock.advance(10_000)
            await read(lease)
        assert server.shown()["one"].expires_at == server.clock.now() + 300


async def test_keep_alive_of_a_request_stays() -> None:
    async with running() as server:
        await server.say(ONE, keep_alive=1200)
        await server.say(ONE)
        assert server.clock.pending == [1200.0]
        await server.say(ONE, keep_alive=-1)
        await server.say(ONE)
        assert server.shown()["one"].expires_at is None
        assert server.clock.pending == []
        await server.say(ONE, keep_alive=5)
        assert server.clock.pending == [5.0]


async def test_zero_unloads_right_after_the_request() -> None:
    async with running() as server:
        await server.say(ONE, keep_alive=0)
        await until(lambda: not server.shown())


async def test_zero_waits_for_the_other_requests() -> None:
    async with running() as server:
        lease = await server.lease(ONE)
        await server.say(ONE, keep_alive=0)
        assert not server.shown()["one"].stopping
        assert await read(lease, "[[fake:say]]still here[[fake:end]]") == "still here"
        lease.release()
        await until(lambda: not server.shown())


async def test_unload_of_an_idle_model_is_done_when_it_returns() -> None:
    async with running() as server:
        await server.say(ONE, keep_alive=-1)
        [pid] = server.pids()
        assert await server.supervisor.unload(ONE.key)
        assert server.shown() == {}
        assert not exists(pid)
        assert not await server.supervisor.unload(ONE.key)


async def test_unload_of_a_busy_model_lets_it_finish() -> None:
    async with running() as server:
        lease = await server.lease(ONE, keep_alive=-1)
        assert await server.supervisor.unload("one:latest")
        assert await read(lease, "[[fake:say]]to the end[[fake:end]]") == "to the end"
        lease.release()
        await until(lambda: not server.shown())


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
async def test_a_worker_killed_in_mid_stream(name: str) -> None:
    """Its streams end with the signal, others go on, and the next request loads it anew."""
    async with running() as server:
        await server.say(TWO)
        other = server.shown()["two"].pid
        async with await server.lease(ONE) as lease:
            pid = server.shown()["one"].pid
            streams = [lease.generate(FOREVER) for _ in range(3)]
            await anext(streams[0])
            os.kill(pid, signal.Signals[name])
            for ended in await asyncio.gather(*map(outcome, streams)):
                assert isinstance(ended, WorkerDied)
                assert ended.signal == name
        await until(lambda: list(server.shown()) == ["two"])
        await server.say(ONE)
        assert server.shown()["one"].pid != pid
        assert server.shown()["two"].pid == other


async def test_the_last_log_lines_tell_why() -> None:
    prompt = "[[fake:log=ggml.c:1: GGML_ASSERT(k > 0) failed]] [[fake:forever]] [[fake:die=abort@2]]"
    async with running() as server, await server.lease(ONE) as lease:
        ended = await outcome(lease.generate(prompt))
    assert isinstance(ended, WorkerDied)
    assert ended.signal == "SIGABRT"
    assert ended.last_lines == ("ggml.c:1: GGML_ASSERT(k > 0) failed",)


async def test_a_worker_killed_while_idle_is_replaced_by_the_next_request() -> None:
    async with running() as server:
        await server.say(ONE)
        [pid] = server.pids()
        os.kill(pid, signal.SIGKILL)
        await gone(server, pid)
        assert server.clock.pending == []
        await server.say(ONE)
        assert server.pids() != [pid]


async def test_a_request_right_after_the_death_is_served_by_a_new_worker() -> None:
    async with running() as server:
        for _ in range(3):
            lease = await server.lease(ONE)
            [pid] = server.pids()
            os.kill(pid, signal.SIGKILL)
            assert isinstance(await outcome(lease.generate(FOREVER)), WorkerDied)
            lease.release()
            await server.say(ONE)


async def test_a_worker_that_hangs_is_ended_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.runners.PING_SECONDS", 0.1)
    async with running() as server:
        await server.say(ONE)
        [pid] = server.pids()
        os.kill(pid, signal.SIGSTOP)
        server.clock.advance(PING_AFTER_SECONDS)
        await server.say(ONE)
        assert server.pids() != [pid]
        assert not exists(pid)


async def test_a_cancelled_stream_frees_its_slot() -> None:
    """One slot: every request after an abandoned stream gets it at once."""
    async with running() as server:
        for _ in range(5):
            async with await server.lease(ONE) as lease, aclosing(lease.generate(FOREVER)) as stream:
                await anext(stream)
            await server.say(ONE)
        assert len(server.pids()) == 1


async def test_release_twice_counts_once() -> None:
    async with running() as server:
        lease, other = await server.lease(ONE), await server.lease(ONE)
        lease.release()
        lease.release()
        assert server.shown()["one"].in_flight == 1
        other.release()


async def test_text_and_tokens_through_a_lease() -> None:
    async with running() as server, await server.lease(ONE) as lease:
        assert await lease.tokenize("hi") == [256, 104, 105]
        assert await lease.detokenize([104, 105]) == "hi"
