"""Loading, waiting, reloading and evicting, with real worker processes that hold the fake engine."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.errors import (
    BadOptions,
    InsufficientMemory,
    LoadFailed,
    QueueFull,
    SupervisorClosed,
    WorkerDied,
)
from runtime.memory import estimate
from runtime.options import LoadOptions
from runtime.supervisor import ModelSpec
from tests.runtime.servers import SETTINGS, Check, Server, model, outcome, read, running
from tests.runtime.shapes import dense
from tests.runtime.workers import exists, until

ONE, TWO, THREE, FOUR = (model(name) for name in ("one", "two", "three", "four"))
NEED = estimate(dense(), LoadOptions()).total


def gated(gate: Path) -> LoadOptions:
    """A load that stops half-way until the file ``gate`` exists."""
    return LoadOptions(kv_overrides={"fake.load_until": str(gate)})


async def loading(server: Server, name: str = "one") -> None:
    """Wait until a load is half-way."""
    await until(lambda: name in server.shown() and server.shown()[name].progress >= 0.5)


async def test_the_first_request_loads_and_the_next_ones_use_it() -> None:
    async with running() as server:
        assert await server.say(ONE, prompt="[[fake:say]]hi[[fake:end]]") == "hi"
        [pid] = server.pids()
        for _ in range(3):
            await server.say(ONE)
        assert server.pids() == [pid]


async def test_two_tags_of_the_same_weights_share_a_runner() -> None:
    async with running() as server:
        await server.say(ONE)
        await server.say(dataclasses.replace(ONE, name="other:tag"))
        assert len(server.pids()) == 1
        assert await server.supervisor.unload("other:tag")
        assert server.pids() == []


async def test_what_is_shown() -> None:
    async with running() as server:
        async with await server.lease(ONE, LoadOptions(num_ctx=2048), keep_alive=60) as lease:
            view = server.shown()["one"]
            assert (view.name, view.spec, view.context_length) == ("one:latest", ONE, 2048)
            assert view.info == lease.info
            assert view.size_bytes == estimate(dense(), LoadOptions(num_ctx=2048)).total
            assert (view.vram_bytes, view.in_flight, view.stopping) == (0, 1, False)
            assert exists(view.pid)
        assert server.shown()["one"].expires_at == server.clock.now() + 60


async def test_a_loading_model_is_shown_with_an_estimated_end(tmp_path: Path) -> None:
    async with running() as server:
        request = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate"), keep_alive=60))
        await loading(server)
        view = server.shown()["one"]
        assert view.info is None
        assert view.expires_at == server.clock.now() + 60
        (tmp_path / "gate").touch()
        await request
        assert server.shown()["one"].info is not None


async def test_requests_of_one_model_share_its_load(tmp_path: Path) -> None:
    async with running() as server:
        requests = [asyncio.create_task(server.say(ONE, gated(tmp_path / "gate"))) for _ in range(8)]
        await loading(server)
        (tmp_path / "gate").touch()
        await asyncio.gather(*requests)
        assert len(server.pids()) == 1


async def test_a_loaded_model_serves_while_another_one_loads(tmp_path: Path) -> None:
    async with running() as server:
        await server.say(ONE)
        slow = asyncio.create_task(server.say(TWO, gated(tmp_path / "gate")))
        await loading(server, "two")
        await server.say(ONE)
        assert not slow.done()
        (tmp_path / "gate").touch()
        await slow


async def test_models_load_one_at_a_time_in_order(tmp_path: Path) -> None:
    async with running() as server:
        first = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate")))
        await loading(server)
        others = [asyncio.create_task(server.say(spec)) for spec in (TWO, THREE)]
        await server.supervisor.unload("nobody")
        assert list(server.shown()) == ["one"]
        (tmp_path / "gate").touch()
        await asyncio.gather(first, *others)
        assert list(server.shown()) == ["one", "two", "three"]


async def test_a_full_queue_refuses_and_loaded_models_go_on(tmp_path: Path) -> None:
    async with running(dataclasses.replace(SETTINGS, max_queue=2)) as server:
        await server.say(TWO)
        waiting = [asyncio.create_task(server.say(ONE, gated(tmp_path / "gate"))) for _ in range(2)]
        await loading(server)
        with pytest.raises(QueueFull, match="maximum pending requests exceeded"):
            await server.lease(THREE)
        await server.say(TWO)
        (tmp_path / "gate").touch()
        await asyncio.gather(*waiting)
        await server.say(THREE)


async def test_a_cancelled_waiter_is_skipped(tmp_path: Path) -> None:
    async with running() as server:
        first = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate")))
        await loading(server)
        given_up, last = asyncio.create_task(server.say(TWO)), asyncio.create_task(server.say(THREE))
        await asyncio.sleep(0)
        given_up.cancel()
        (tmp_path / "gate").touch()
        await asyncio.gather(first, last)
        assert list(server.shown()) == ["one", "three"]


async def test_a_load_that_nobody_waits_for_is_aborted(tmp_path: Path) -> None:
    async with running() as server:
        request = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate")))
        await loading(server)
        [pid] = server.pids()
        request.cancel()
        await until(lambda: not server.shown() and not exists(pid))
        await server.say(ONE)


async def test_a_load_goes_on_for_those_who_still_wait(tmp_path: Path) -> None:
    async with running() as server:
        leader = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate")))
        await loading(server)
        [pid] = server.pids()
        follower = asyncio.create_task(server.say(ONE, gated(tmp_path / "gate")))
        await asyncio.sleep(0)
        leader.cancel()
        (tmp_path / "gate").touch()
        await follower
        assert server.pids() == [pid]


async def test_sampling_differences_never_reload_and_num_ctx_does() -> None:
    async with running() as server:
        small = LoadOptions(num_ctx=2048)
        await server.say(ONE, small, "num_ctx")
        [pid] = server.pids()
        await server.say(ONE, small, "num_ctx")
        await server.say(ONE, LoadOptions(num_ctx=1024))  # the usual one is smaller: what is up will do
        assert server.pids() == [pid]
        await server.say(ONE, LoadOptions(num_ctx=4096), "num_ctx")
        assert server.shown()["one"].context_length == 4096
        assert server.pids() != [pid]
        assert not exists(pid)


async def test_a_reload_waits_for_the_work_in_flight() -> None:
    async with running() as server:
        async with await server.lease(ONE, LoadOptions(num_ctx=2048), "num_ctx") as lease:
            async with aclosing(lease.generate("[[fake:forever]]")) as stream:
                await anext(stream)
                bigger = [
                    asyncio.create_task(server.say(ONE, LoadOptions(num_ctx=4096), "num_ctx"))
                    for _ in range(2)
                ]
                await until(lambda: server.shown()["one"].stopping)
                for _ in range(50):
                    await anext(stream)
            assert server.shown()["one"].context_length == 2048
            text = await read(lease, "[[fake:say]]to the end[[fake:end]]")
            assert text == "to the end"
        await asyncio.gather(*bigger)
        assert server.shown()["one"].context_length == 4096
        assert len(server.pids()) == 1


async def test_over_the_limit_the_shortest_idle_session_leaves() -> None:
    async with running(dataclasses.replace(SETTINGS, max_loaded=3)) as server:
        await server.say(ONE, keep_alive=-1)
        await server.say(TWO, keep_alive=60)
        await server.say(THREE, keep_alive=300)
        await server.say(FOUR)
        assert list(server.shown()) == ["one", "three", "four"]


async def test_the_default_limit_is_three() -> None:
    async with running() as server:
        for spec in (ONE, TWO, THREE, FOUR):
            server.clock.advance(1)
            await server.say(spec)
        assert list(server.shown()) == ["two", "three", "four"]


async def test_without_memory_an_idle_model_leaves() -> None:
    async with running() as server:
        server.memory.total = 2 * NEED + NEED // 2
        await server.say(ONE, keep_alive=300)
        await server.say(TWO, keep_alive=60)
        await server.say(THREE, keep_alive=300)
        assert list(server.shown()) == ["one", "three"]


async def test_a_busy_model_is_waited_for_before_it_leaves() -> None:
    async with running() as server:
        server.memory.total = NEED + NEED // 2
        lease = await server.lease(ONE)
        next_one = asyncio.create_task(server.say(TWO))
        await until(lambda: server.shown()["one"].stopping)
        late = asyncio.create_task(server.say(ONE))
        assert await read(lease, "[[fake:say]]done[[fake:end]]") == "done"
        lease.release()
        await asyncio.gather(next_one, late)
        assert list(server.shown()) == ["one"]


async def test_a_context_that_does_not_fit_is_clamped_with_a_warning() -> None:
    async with running() as server:
        server.memory.total = NEED
        async with await server.lease(ONE, LoadOptions(num_ctx=8192), "num_ctx") as lease:
            assert 2048 <= lease.info.num_ctx <= 4096
            assert "using num_ctx" in lease.warnings[0]
            [pid] = server.pids()
        await server.say(ONE, LoadOptions(num_ctx=8192), "num_ctx")
        assert server.pids() == [pid]
        assert server.shown()["one"].warnings == lease.warnings


async def test_what_can_never_fit_is_refused_and_leaves_no_trace() -> None:
    async with running() as server:
        server.memory.total = NEED
        huge = model("huge", dense(1 << 40))
        with pytest.raises(InsufficientMemory, match="requires more system memory"):
            await server.lease(huge)
        assert server.shown() == {}
        await server.say(ONE)


@pytest.mark.parametrize("kind", ["bad_model", "unsupported", "engine"])
async def test_a_failed_load_leaves_no_trace(kind: str) -> None:
    async with running() as server:
        broken = LoadOptions(kv_overrides={"fake.load_fail": kind})
        requests = [server.lease(ONE, broken) for _ in range(3)]
        errors = await asyncio.gather(*requests, return_exceptions=True)
        assert [getattr(error, "kind", None) for error in errors] == [kind] * 3
        assert server.shown() == {}
        await server.say(ONE)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSEGV", "abort", "exit"])
async def test_a_worker_that_dies_while_loading_fails_the_request_alone(how: str) -> None:
    async with running() as server:
        await server.say(TWO)
        with pytest.raises(LoadFailed) as caught:
            await server.lease(ONE, LoadOptions(kv_overrides={"fake.load_die": how}))
        assert caught.value.kind == "died"
        assert caught.value.last_lines == ("fake engine: dying during the load",)
        assert list(server.shown()) == ["two"]
        await server.say(TWO)


async def test_a_stalled_load_is_given_up() -> None:
    async with running(dataclasses.replace(SETTINGS, load_timeout_seconds=0.2)) as server:
        with pytest.raises(LoadFailed, match="no progress") as caught:
            await server.lease(ONE, LoadOptions(kv_overrides={"fake.load_stall": True}))
        assert caught.value.kind == "stalled"
        assert server.shown() == {}


async def test_out_of_memory_at_load_is_tried_again_alone_and_then_smaller() -> None:
    """The fake engine runs out of memory every time, so all tries are seen."""
    async with running() as server:
        await server.say(TWO)
        broken = LoadOptions(num_ctx=8192, kv_overrides={"fake.load_fail": "out_of_memory"})
        with pytest.raises(LoadFailed) as caught:
            await server.lease(ONE, broken)
        assert caught.value.kind == "out_of_memory"
        assert server.shown() == {}


async def test_the_number_of_slots_follows_the_settings_or_the_memory() -> None:
    three = dataclasses.replace(SETTINGS, num_parallel=3)
    async with running(three) as server, await server.lease(ONE) as lease:
        assert lease.info.num_parallel == 3
    async with running(dataclasses.replace(SETTINGS, num_parallel=0)) as server:
        async with await server.lease(ONE) as lease:
            assert lease.info.num_parallel == 4
        server.memory.total = NEED + NEED // 2
        async with await server.lease(TWO) as lease:
            assert lease.info.num_parallel == 1


async def test_an_impossible_number_of_experts_never_reaches_an_engine() -> None:
    async with running() as server:
        with pytest.raises(BadOptions, match="dense"):
            await server.lease(ONE, LoadOptions(num_experts_used=2))
        mixture = model("mixture", dataclasses.replace(dense(), n_expert=8))
        for count in (0, 9):
            with pytest.raises(BadOptions, match="from 1 to 8"):
                await server.lease(mixture, LoadOptions(num_experts_used=count))
        await server.say(mixture, LoadOptions(num_experts_used=8))


async def test_an_engine_that_cannot_be_trusted_gets_plain_weights() -> None:
    check = Check(extra_buffers=False)
    async with running(check=check) as server:
        async with await server.lease(ONE) as lease:
            assert lease.options.extra_buffers is False
        async with await server.lease(TWO, replace(LoadOptions(), extra_buffers=True)) as lease:
            assert lease.options.extra_buffers is True
        assert check.asked == [("Q8_0",)]


async def test_close_refuses_ends_streams_and_leaves_no_process(tmp_path: Path) -> None:
    async with running() as server:
        lease = await server.lease(ONE)
        stream = lease.generate("[[fake:forever]]")
        await anext(stream)
        slow = asyncio.create_task(server.lease(TWO, gated(tmp_path / "never")))
        await loading(server, "two")
        waiting = asyncio.create_task(server.lease(THREE))
        await asyncio.sleep(0)
        pids = server.pids()
        reading = asyncio.create_task(outcome(stream))
        await server.supervisor.close()
        assert not any(map(exists, pids))
        ended = await reading
        assert isinstance(ended, WorkerDied)
        assert ended.reason == "stopped by the server"
        for request in (slow, waiting):
            with pytest.raises(SupervisorClosed):
                await request
        with pytest.raises(SupervisorClosed):
            await server.lease(ONE)


async def test_a_relative_path_is_that_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker runs in another directory."""
    (tmp_path / "model.gguf").write_bytes(b"x" * 77)
    monkeypatch.chdir(tmp_path)
    spec = ModelSpec("k", "model.gguf", "llama", dense(), "m")
    async with running() as server, await server.lease(spec) as lease:
        assert lease.info.model_bytes == 77


async def test_thirty_two_streams_at_once() -> None:
    async with running(dataclasses.replace(SETTINGS, num_parallel=8)) as server:
        prompts = [f"[[fake:say]]{'word ' * n}{n}[[fake:end]]" for n in range(32)]
        texts = await asyncio.gather(*(server.say(ONE, prompt=prompt) for prompt in prompts))
        assert texts == [f"{'word ' * n}{n}" for n in range(32)]
        assert len(server.pids()) == 1
