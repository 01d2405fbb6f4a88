"""A worker process, seen from the server: requests, faults of every kind, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from runtime import events
from runtime.errors import GenerationFailed, LoadFailed, WorkerDied
from runtime.events import Finished, Submit, Token
from runtime.options import Constraint, LoadOptions, SamplingOptions
from runtime.process import SOURCE_ROOT, start_worker
from tests.runtime.workers import FAKE_WORKER, collect, exists, fake_worker, until

DOOMED_SERVER = """
import asyncio
from runtime import events
from runtime.options import LoadOptions
from tests.runtime.workers import FAKE_WORKER, start_worker

async def main():
    busy, loading = await start_worker(FAKE_WORKER), await start_worker(FAKE_WORKER)
    await busy.load(events.Load("/m", LoadOptions(), "llama"), None, lambda fraction: None)
    stall = events.Load("/m", LoadOptions(kv_overrides={"fake.load_stall": True}), "llama")
    task = asyncio.create_task(loading.load(stall, None, lambda fraction: None))
    async for event in busy.generate(events.Submit(0, "[[fake:hold=1]]")):
        print(busy.pid, loading.pid, flush=True)

asyncio.run(main())
"""
FOREVER = Submit(0, "[[fake:forever]] [[fake:delay=0.001]]", SamplingOptions(num_predict=1_000_000))


async def test_a_request_runs_and_ends() -> None:
    async with fake_worker() as worker:
        text, end = await collect(worker, Submit(0, "[[fake:say]]héllo\nworld[[fake:end]]"))
        assert text == "héllo\nworld"
        assert (end.reason, end.detail) == ("stop", "eos")
    assert not exists(worker.pid)


async def test_many_streams_at_once_are_kept_apart() -> None:
    async with fake_worker(LoadOptions(num_parallel=8)) as worker:
        prompts = [f"[[fake:say]]{'ab ' * n}{n}[[fake:end]]" for n in range(32)]
        got = await asyncio.gather(*(collect(worker, Submit(0, prompt)) for prompt in prompts))
    assert [text for text, _ in got] == [f"{'ab ' * n}{n}" for n in range(32)]


async def test_load_progress_is_reported_and_info_comes_back() -> None:
    worker = await start_worker(FAKE_WORKER)
    seen: list[float] = []
    options = LoadOptions(num_ctx=512, num_parallel=3, kv_overrides={"fake.model_bytes": 7})
    info = await worker.load(events.Load("/nowhere", options, "llama"), 30.0, seen.append)
    assert seen == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert (info.num_ctx, info.num_parallel, info.model_bytes) == (512, 3, 7)
    await worker.stop()


@pytest.mark.parametrize("kind", ["bad_model", "out_of_memory", "unsupported", "engine"])
async def test_a_load_that_the_engine_refuses(kind: str) -> None:
    with pytest.raises(LoadFailed) as caught:
        async with fake_worker(LoadOptions(kv_overrides={"fake.load_fail": kind})):
            pass
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("how", "reason"), [("SIGKILL", "SIGKILL"), ("exit", "exit status 3"), ("abort", "SIGABRT")]
)
async def test_a_worker_that_dies_while_loading(how: str, reason: str) -> None:
    with pytest.raises(LoadFailed, match=reason) as caught:
        async with fake_worker(LoadOptions(kv_overrides={"fake.load_die": how})):
            pass
    assert caught.value.kind == "died"
    assert caught.value.last_lines == ("fake engine: dying during the load",)


async def test_a_load_without_progress_is_given_up() -> None:
    worker = await start_worker(FAKE_WORKER)
    options = LoadOptions(kv_overrides={"fake.load_stall": True})
    with pytest.raises(LoadFailed, match="no progress") as caught:
        await worker.load(events.Load("/nowhere", options, "llama"), 0.2, lambda fraction: None)
    assert caught.value.kind == "stalled"
    await worker.stop()
    assert not exists(worker.pid)


async def test_a_repeated_progress_report_is_no_progress(tmp_path: Path) -> None:
    worker = await start_worker(FAKE_WORKER)
    options = LoadOptions(kv_overrides={"fake.load_until": str(tmp_path / "never")})
    with pytest.raises(LoadFailed, match="no progress"):
        await worker.load(events.Load("/nowhere", options, "llama"), 0.2, lambda fraction: None)
    await worker.stop()


async def test_stop_in_the_middle_of_a_load(tmp_path: Path) -> None:
    worker = await start_worker(FAKE_WORKER)
    options = LoadOptions(kv_overrides={"fake.load_until": str(tmp_path / "never")})
    half = asyncio.Event()
    message = events.Load("/nowhere", options, "llama")
    loading = asyncio.create_task(worker.load(message, None, lambda f: half.set() if f >= 0.5 else None))
    await half.wait()
    await worker.stop()
    assert not exists(worker.pid)
    with pytest.raises(LoadFailed, match="stopped by the server"):
        await loading


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM", "SIGBUS"])
async def test_death_in_mid_stream_ends_all_streams_with_the_signal(name: str) -> None:
    async with fake_worker(LoadOptions(num_parallel=2)) as worker:
        streams = [worker.generate(FOREVER) for _ in range(3)]
        for stream in streams[:2]:
            assert isinstance(await anext(stream), Token)
        os.kill(worker.pid, signal.Signals[name])
        for stream in streams:
            with pytest.raises(WorkerDied, match=name) as caught:
                async for _ in stream:
                    pass
            assert caught.value.signal == name
        with pytest.raises(WorkerDied, match=name):
            await collect(worker, Submit(0, "x"))
        with pytest.raises(WorkerDied, match=name):
            await worker.tokenize("x", True)
        assert not worker.alive


@pytest.mark.parametrize(("how", "reason"), [("abort", "SIGABRT"), ("exit", "exit status 3")])
async def test_last_log_lines_come_with_the_error(how: str, reason: str) -> None:
    prompt = f"[[fake:log=GGML_ASSERT(n_expert) failed]] [[fake:forever]] [[fake:die={how}@3]]"
    async with fake_worker() as worker:
        with pytest.raises(WorkerDied, match=reason) as caught:
            await collect(worker, Submit(0, prompt))
    assert caught.value.last_lines == ("GGML_ASSERT(n_expert) failed",)
    assert caught.value.detail == "GGML_ASSERT(n_expert) failed"


async def test_what_was_said_before_the_death_arrives() -> None:
    async with fake_worker() as worker:
        stream = worker.generate(Submit(0, "[[fake:say]]abcdef[[fake:end]] [[fake:die=SIGKILL@3]]"))
        assert [(await anext(stream)).text for _ in range(3)] == ["a", "b", "c"]
        with pytest.raises(WorkerDied):
            await anext(stream)


async def test_leaving_a_stream_early_frees_its_slot() -> None:
    async with fake_worker(LoadOptions(num_parallel=1)) as worker:
        for _ in range(5):
            async with aclosing(worker.generate(FOREVER)) as stream:
                await anext(stream)
            await collect(worker, Submit(0, "[[fake:words=1]]"))


async def test_a_cancelled_task_frees_the_slot() -> None:
    async with fake_worker(LoadOptions(num_parallel=1)) as worker:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in worker.generate(FOREVER):
                started.set()

        reader = asyncio.create_task(read())
        await started.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await collect(worker, Submit(0, "[[fake:words=1]]"))


async def test_a_failed_request_leaves_the_others_alone() -> None:
    async with fake_worker() as worker:
        with pytest.raises(GenerationFailed, match="asked for a failure") as caught:
            await collect(worker, Submit(0, "[[fake:fail=too_long]]"))
        assert caught.value.kind == "too_long"
        await collect(worker, Submit(0, "x"))


async def test_a_slow_reader_loses_nothing_and_holds_up_nobody() -> None:
    text = "slow reader " * 300
    async with fake_worker(LoadOptions(num_parallel=2)) as worker:
        slow = worker.generate(Submit(0, f"[[fake:say]]{text}[[fake:end]]"))
        parts = [(await anext(slow)).text]
        quick, _ = await collect(worker, Submit(0, f"[[fake:say]]{text}[[fake:end]]"))
        assert quick == text
        rest = [event async for event in slow]
    assert "".join(parts + [event.text for event in rest]) == text
    assert isinstance(rest[-1], Finished)
    assert rest[-1].generated_tokens == len(text)


async def test_text_and_tokens() -> None:
    async with fake_worker() as worker:
        tokens = await worker.tokenize("né", True)
        assert tokens == [256, 110, 195, 169]
        assert await worker.detokenize(tokens[1:]) == "né"
        with pytest.raises(GenerationFailed, match="999999"):
            await worker.detokenize([999999])


async def test_an_oversized_request_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_worker() as worker:
        with pytest.raises(GenerationFailed, match="too large"):
            await collect(worker, Submit(0, "x" * (64 * 1024 * 1024)))
        await collect(worker, Submit(0, "x"))


async def test_a_request_before_the_load_is_refused() -> None:
    worker = await start_worker(FAKE_WORKER)
    with pytest.raises(GenerationFailed, match="no model is loaded"):
        await collect(worker, Submit(0, "x"))
    await worker.stop()


@pytest.mark.parametrize("command", [("/nowhere/python",), (sys.executable, "-c", "raise SystemExit(5)")])
async def test_a_worker_that_cannot_start(command: tuple[str, ...]) -> None:
    with pytest.raises(LoadFailed, match=r"cannot be started|exit status 5"):
        await start_worker(command)


async def test_a_worker_that_talks_nonsense_is_ended() -> None:
    script = "import socket,sys; s = socket.socket(fileno=int(sys.argv[2])); s.send(b'\\xff' * 9); s.recv(1)"
    with pytest.raises(LoadFailed, match="cannot be read"):
        await start_worker((sys.executable, "-c", script))


async def test_interrupt_from_the_terminal_is_left_to_the_server() -> None:
    async with fake_worker() as worker:
        os.kill(worker.pid, signal.SIGINT)
        await collect(worker, Submit(0, "x"))


async def test_stats_arrive_while_busy() -> None:
    async with fake_worker() as worker:
        async with aclosing(worker.generate(FOREVER)) as stream:
            async for _ in stream:
                if worker.stats.steps > 0:
                    break
        assert worker.stats.generated_tokens > 0


async def test_no_worker_outlives_a_server_that_is_killed() -> None:
    """The server is killed while a stream runs and, in another worker, a load hangs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DOOMED_SERVER, cwd=SOURCE_ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    pids = [int(word) for word in (await process.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(map(exists, pids))
    process.kill()
    await process.wait()
    await until(lambda: not any(map(exists, pids)))


async def test_a_constraint_travels_to_the_engine() -> None:
    async with fake_worker() as worker:
        text, finished = await collect(worker, Submit(0, "hi", constraint=Constraint("choice", '["red"]')))
        with pytest.raises(GenerationFailed, match="unclosed group") as caught:
            await collect(worker, Submit(0, "hi", constraint=Constraint("regex", "(")))
    assert (text, finished.detail) == ("red", "eos")
    assert caught.value.kind == "bad_request"
