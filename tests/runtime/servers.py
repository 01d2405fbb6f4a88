"""A supervisor over real worker processes with the fake engine, with time and memory held by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runtime.canary import Verdict
from runtime.errors import RuntimeFailure
from runtime.events import Finished
from runtime.free_memory import Held
from runtime.lease import Lease
from runtime.options import LoadOptions, SamplingOptions
from runtime.shape import ModelShape
from runtime.supervisor import LoadedModel, ModelSpec, Supervisor, SupervisorSettings
from tests.runtime.clock import ManualClock
from tests.runtime.shapes import dense
from tests.runtime.workers import FAKE_WORKER, exists

SETTINGS = SupervisorSettings(worker_command=FAKE_WORKER, num_parallel=1)
PLENTY = 1 << 40


@dataclass
class Memory:
    """Free memory as the test wants it: ``total`` less what the loaded models need."""

    total: int = PLENTY

    def free_bytes(self, loaded: list[Held]) -> int:
        return self.total - sum(held.needed for held in loaded)


@dataclass
class Check:
    """An engine check that remembers what it was asked."""

    extra_buffers: bool = True
    asked: list[tuple[str, ...]] = field(default_factory=list)

    async def prove(self, types: tuple[str, ...]) -> Verdict:
        self.asked.append(types)
        return Verdict(self.extra_buffers)


def model(name: str = "one", shape: ModelShape | None = None) -> ModelSpec:
    """A model that the fake engine can "load"."""
    return ModelSpec(f"/blobs/{name}", f"/blobs/{name}", "llama", shape or dense(), f"{name}:latest")


@dataclass
class Server:
    """What a test drives."""

    supervisor: Supervisor
    clock: ManualClock
    memory: Memory

    async def lease(
        self,
        spec: ModelSpec,
        options: LoadOptions | None = None,
        explicit: str = "",
        keep_alive: float | None = None,
    ) -> Lease:
        return await self.supervisor.acquire(
            spec, options or LoadOptions(), explicit=frozenset(explicit.split()), keep_alive=keep_alive
        )

    async def say(
        self, spec: ModelSpec, options: LoadOptions | None = None, explicit: str = "",
        keep_alive: float | None = None, prompt: str = "[[fake:words=2]]",
    ) -> str:  # fmt: skip
        """A whole request."""
        async with await self.lease(spec, options, explicit, keep_alive) as lease:
            return await read(lease, prompt)

    def shown(self) -> dict[str, LoadedModel]:
        return {view.spec.key.removeprefix("/blobs/"): view for view in self.supervisor.loaded()}

    def pids(self) -> list[int]:
        return [view.pid for view in self.supervisor.loaded()]


async def read(lease: Lease, prompt: str = "[[fake:words=2]]") -> str:
    """The text of one generation."""
    text = ""
    async for event in lease.generate(prompt, SamplingOptions(num_predict=10_000)):
        text += event.text
        ended = isinstance(event, Finished)
    assert ended
    return text


async def outcome(work: AsyncIterator[object]) -> Exception | None:
    """Read to the end; how it ended."""
    try:
        async for _ in work:
            pass
    except RuntimeFailure as error:
        return error
    return None


@asynccontextmanager
async def running(
    settings: SupervisorSettings = SETTINGS, check: Check | None = None
) -> AsyncIterator[Server]:
    """A supervisor; afterwards none of its workers may be left."""
    clock, memory = ManualClock(), Memory()
    supervisor = Supervisor(settings, memory=memory, check=check, clock=clock)
    server = Server(supervisor, clock, memory)
    try:
        yield server
    finally:
        pids = server.pids()
        await supervisor.close()
        assert supervisor.loaded() == []
        assert not any(exists(pid) for pid in pids if pid)
