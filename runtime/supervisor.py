"""The loaded models of this server: who gets one, what is loaded next, what leaves for it.

Requests for a loaded model get it at once. All others wait in one line, and one model is brought up at a
time. What to do for it is decided by `runtime.eviction`, when a model is loaded again by `runtime.reload`,
how long it stays by `runtime.keepalive`; this file carries the decisions out. Lives in one event loop.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from runtime.canary import Verdict
from runtime.clock import Clock, SystemClock
from runtime.errors import LoadFailed, RuntimeFailure, SupervisorClosed
from runtime.eviction import Evict, LoadNow, Wanted, next_step
from runtime.fit import Fit, check_experts
from runtime.free_memory import Held, SystemMemory
from runtime.keepalive import Session
from runtime.lease import Lease
from runtime.loaded import LoadedModel, ModelSpec, Runner, State
from runtime.options import LoadOptions
from runtime.runners import Runners
from runtime.waiting import Waiter, WaitingLine

__all__ = ["Lease", "LoadedModel", "ModelSpec", "Supervisor", "SupervisorSettings"]

WORKER = (sys.executable, "-m", "runtime.worker")
AUTO_MAX_LOADED = 3
SMALLER_CONTEXT = 4096  # tried when a load runs out of memory and nobody asked for a context
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupervisorSettings:
    """``keep_alive_seconds`` negative: for ever. ``max_loaded`` and ``num_parallel`` 0: automatic.

    ``load_timeout_seconds`` is how long a load may make no progress; 0 or less: as long as it likes.
    """

    keep_alive_seconds: float = 300.0
    max_loaded: int = 0
    max_queue: int = 512
    load_timeout_seconds: float = 300.0
    num_parallel: int = 0
    worker_command: tuple[str, ...] = WORKER


class FreeMemory(Protocol):
    """See `runtime.free_memory.SystemMemory`."""

    def free_bytes(self, loaded: list[Held]) -> int:
        """What a new model may take beside the loaded ones."""
        ...


class EngineCheck(Protocol):
    """See `runtime.canary.Canary`."""

    async def prove(self, types: tuple[str, ...]) -> Verdict:
        """How far the engine can be trusted with weights of these types."""
        ...


class Supervisor:
    """Gives out leases; ``close()`` must be awaited in the end.

    ``memory``, ``check`` and ``clock`` are replaced by tests; without ``check`` every engine is trusted.
    """

    def __init__(
        self,
        settings: SupervisorSettings,
        *,
        memory: FreeMemory | None = None,
        check: EngineCheck | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._memory: FreeMemory = memory or SystemMemory()
        self._check = check
        self._clock: Clock = clock or SystemClock()
        self._runners = Runners(self._clock)
        self._line = WaitingLine(settings.max_queue)
        self._serving: asyncio.Task[None] | None = None
        self._bringing_up: tuple[Waiter, asyncio.Task[Runner]] | None = None
        self._closing = False

    async def acquire(
        self,
        spec: ModelSpec,
        options: LoadOptions,
        *,
        explicit: frozenset[str] = frozenset(),
        keep_alive: float | None = None,
    ) -> Lease:
        """The right to use a model, loaded if need be.

        ``explicit`` names the options that the caller gave, ``keep_alive`` is in seconds (negative: for ever,
        None: as before). Raises QueueFull, LoadFailed, InsufficientMemory, BadOptions, SupervisorClosed.
        """
        if self._closing:
            raise SupervisorClosed("the server is stopping")
        check_experts(spec.shape, options)
        answer: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        waiter = Waiter(spec, options, explicit, keep_alive, answer)
        runner = self._runners.get(spec.key)
        if runner is not None and waiter.can_use(runner) and await self._runners.responds(runner):
            return self._lease(runner, waiter)
        self._line.join(waiter)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_line())
        try:
            return await answer
        except asyncio.CancelledError:
            self._give_up(waiter)
            raise

    def loaded(self) -> list[LoadedModel]:
        """All models that are loaded, loading, or leaving."""
        return self._runners.views()

    async def unload(self, model: str) -> bool:
        """Let a model (its key, or a name it was asked for by) go: at once if idle, else after its requests.

        Returns whether it was loaded; one that was idle is gone by then.
        """
        return await self._runners.unload(model)

    async def close(self) -> None:
        """Refuse whoever waits, end all workers, and wait until they are gone."""
        self._closing = True
        self._line.fail(SupervisorClosed("the server is stopping"), lambda waiter: True)
        if self._bringing_up is not None:
            self._bringing_up[1].cancel()
        if self._serving is not None:
            await self._serving
        await self._runners.close()

    async def _serve_line(self) -> None:
        """Bring up one model after the other, until nobody waits."""
        while (waiter := self._line.first()) is not None:
            task = asyncio.create_task(self._bring_up(waiter))
            self._bringing_up = (waiter, task)
            await asyncio.wait((task,))
            self._bringing_up = None
            if task.cancelled():
                self._line.leave(waiter)
                continue
            error = task.exception()
            if error is None:
                self._grant(waiter, task.result())
            elif isinstance(error, RuntimeFailure):
                self._refuse(waiter, error)
            else:
                log.error("cannot load %s", waiter.spec.name, exc_info=error)
                self._refuse(waiter, LoadFailed("engine", f"an error of the server itself: {error!r}"))

    def _grant(self, leader: Waiter, runner: Runner) -> None:
        """Give leases to all who wait for this model."""
        if not runner.usable:
            self._refuse(leader, LoadFailed("died", "the worker ended right after the model was loaded"))
        for waiter in self._line:
            if waiter.can_use(runner):
                self._line.leave(waiter)
                if not waiter.answer.done():
                    waiter.answer.set_result(self._lease(runner, waiter))
        if runner.state is State.READY and not runner.session.in_flight:
            self._runners.schedule(runner)  # whoever wanted it went away while it was loading

    def _lease(self, runner: Runner, waiter: Waiter) -> Lease:
        return self._runners.lease(runner, waiter.spec.name, waiter.keep_alive, waiter.began_ns)

    def _refuse(self, waiter: Waiter, error: RuntimeFailure) -> None:
        """Tell all who wait for the same thing, or each of them would try the same load again."""
        self._line.fail(error, lambda other: other.content_with(waiter))

    def _give_up(self, waiter: Waiter) -> None:
        """A request was cancelled; a load that nobody else waits for is aborted."""
        self._line.leave(waiter)
        answer = waiter.answer
        if answer.done() and not answer.cancelled() and answer.exception() is None:
            answer.result().release()
        if self._bringing_up is not None:
            leader, task = self._bringing_up
            if not any(other.content_with(leader) for other in self._line):
                task.cancel()

    async def _bring_up(self, waiter: Waiter) -> Runner:
        """Load what ``waiter`` wants, when there is room for it."""
        options, tries = waiter.options, 0
        while True:
            runner = self._runners.get(waiter.spec.key)
            if runner is not None:
                if waiter.can_use(runner):
                    return runner
                self._runners.stop_when_idle(runner)
                await runner.gone.wait()
                continue
            fit = self._next_fit(waiter, options)
            if fit is None:
                await self._runners.wait_for_departure()
                continue
            try:
                return await self._load(waiter, fit)
            except LoadFailed as error:
                tries += 1
                if error.kind != "out_of_memory" or tries > 2:
                    raise
                options = await self._after_out_of_memory(waiter, fit, error)

    def _next_fit(self, waiter: Waiter, options: LoadOptions) -> Fit | None:
        """How to load it now; None when somebody must leave first, which is then set off."""
        given = self._settings.num_parallel
        free_choice = "num_parallel" not in waiter.explicit
        if given > 0 and free_choice:
            options = replace(options, num_parallel=given)
        step = next_step(
            Wanted(waiter.spec.shape, options, auto_slots=free_choice and given <= 0),
            self._runners.occupants(),
            self._memory.free_bytes(self._runners.held()),
            self._settings.max_loaded or AUTO_MAX_LOADED,
        )
        if isinstance(step, LoadNow):
            return step.fit
        if isinstance(step, Evict):
            evicted = self._runners.get(step.key)
            assert evicted is not None
            self._runners.stop_when_idle(evicted)
        return None

    async def _after_out_of_memory(self, waiter: Waiter, fit: Fit, error: LoadFailed) -> LoadOptions:
        """What to try next: alone, then with a small context if nobody asked for this one; else the error."""
        if await self._runners.unload_others(waiter.spec.key):
            return fit.options
        if "num_ctx" in waiter.explicit or fit.options.num_ctx <= SMALLER_CONTEXT:
            raise error
        return replace(fit.options, num_ctx=SMALLER_CONTEXT)

    async def _load(self, waiter: Waiter, fit: Fit) -> Runner:
        keep_alive = waiter.keep_alive if waiter.keep_alive is not None else self._settings.keep_alive_seconds
        fit = await self._proven(waiter.spec, fit)
        for warning in fit.warnings:
            log.warning("%s: %s", waiter.spec.name, warning)
        runner = Runner(waiter.spec, waiter.options, fit, Session(keep_alive, self._clock.now()))
        self._runners.add(runner)
        timeout = self._settings.load_timeout_seconds
        await self._runners.start(runner, self._settings.worker_command, timeout if timeout > 0 else None)
        return runner

    async def _proven(self, spec: ModelSpec, fit: Fit) -> Fit:
        """``fit`` without re-arranged weights where the engine build cannot be trusted with them."""
        if self._check is None or fit.options.extra_buffers is not None:
            return fit
        verdict = await self._check.prove(spec.shape.weight_types)
        if verdict.extra_buffers:
            return fit
        return dataclasses.replace(fit, options=replace(fit.options, extra_buffers=False))
