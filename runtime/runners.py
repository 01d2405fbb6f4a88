"""The runners of a server with their timers: leases given and taken back, expiry, departure, death.

Carries out; what is loaded when is decided in `runtime.supervisor`. Lives in one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence

from runtime.clock import Clock, Timer
from runtime.errors import RuntimeFailure
from runtime.eviction import Occupant
from runtime.free_memory import Held
from runtime.lease import Lease
from runtime.loaded import LoadedModel, Runner, State

PING_AFTER_SECONDS = 10.0  # a model that was idle for longer is asked whether it still answers
PING_SECONDS = 10.0
LOGGED_LINES = 10  # of what a worker wrote before it died
log = logging.getLogger(__name__)


class Runners:
    """All models that are loading, loaded or leaving, by key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runners: dict[str, Runner] = {}
        self._timers: dict[str, Timer] = {}
        self._background: set[asyncio.Task[None]] = set()

    def get(self, key: str) -> Runner | None:
        """The runner of these weights."""
        return self._runners.get(key)

    def views(self) -> list[LoadedModel]:
        """All, as they are shown."""
        return [runner.view() for runner in self._runners.values()]

    def occupants(self) -> list[Occupant]:
        """All, as eviction sees them."""
        return [runner.occupant() for runner in self._runners.values()]

    def held(self) -> list[Held]:
        """The memory that all of them need."""
        return [runner.held() for runner in self._runners.values()]

    async def start(self, runner: Runner, command: Sequence[str], stall_seconds: float | None) -> None:
        """Load; LoadFailed, and then nothing of it remains. It must have been added."""
        try:
            await runner.start(command, stall_seconds)
        except BaseException:
            self.forget(runner)
            raise
        self._spawn(self._watch(runner))

    def add(self, runner: Runner) -> None:
        """A runner that is about to load; it is shown from now on."""
        self._runners[runner.spec.key] = runner

    def forget(self, runner: Runner) -> None:
        """It is gone."""
        runner.state = State.GONE
        self._cancel_timer(runner)
        if self._runners.get(runner.spec.key) is runner:
            del self._runners[runner.spec.key]
        runner.gone.set()

    def lease(self, runner: Runner, name: str, keep_alive: float | None, began_ns: int) -> Lease:
        """The right to use ``runner``, for a request that came at ``began_ns``."""
        self._cancel_timer(runner)
        runner.names.add(name)
        runner.session.begin(keep_alive, self._clock.now())
        return Lease(runner, time.monotonic_ns() - began_ns, self._release)

    async def responds(self, runner: Runner) -> bool:
        """Whether its worker answers; one that does not is ended. After recent use it is not asked."""
        session = runner.session
        if session.in_flight or self._clock.now() - session.last_used < PING_AFTER_SECONDS:
            return True
        try:
            async with asyncio.timeout(PING_SECONDS):
                await runner.worker.tokenize("", False)
        except (TimeoutError, RuntimeFailure):
            log.warning("%s: the worker does not answer and is ended", runner.spec.name)
            runner.worker.kill()
            return False
        return runner.usable

    def schedule(self, runner: Runner) -> None:
        """Unload it now or when its time has come."""
        self._cancel_timer(runner)
        if runner.session.due(self._clock.now()):
            self.stop_when_idle(runner)
            return
        seconds = runner.session.remaining_seconds(self._clock.now())
        if seconds is not None:
            timer = self._clock.call_later(seconds, lambda: self.stop_when_idle(runner))
            self._timers[runner.spec.key] = timer

    def stop_when_idle(self, runner: Runner) -> None:
        """No new leases; the worker ends with the last one."""
        if runner.state is not State.READY:
            return
        self._cancel_timer(runner)
        runner.state = State.STOPPING
        if not runner.session.in_flight:
            self._spawn(runner.stop())

    async def unload(self, model: str) -> bool:
        """See `Supervisor.unload`."""
        for runner in tuple(self._runners.values()):
            if model == runner.spec.key or model in runner.names:
                runner.session.expire(self._clock.now())
                if runner.state is not State.LOADING and not runner.session.in_flight:
                    self.stop_when_idle(runner)
                    await runner.gone.wait()
                return True
        return False

    async def unload_others(self, key: str) -> bool:
        """Let all but one go and wait until they are gone; whether there were any."""
        others = [runner for runner in self._runners.values() if runner.spec.key != key]
        for runner in others:
            self.stop_when_idle(runner)
        for runner in others:
            await runner.gone.wait()
        return bool(others)

    async def wait_for_departure(self) -> None:
        """Wait until one of those that are leaving is gone."""
        leaving = [runner for runner in self._runners.values() if runner.state is State.STOPPING]
        waits = [asyncio.ensure_future(runner.gone.wait()) for runner in leaving]
        try:
            if waits:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def close(self) -> None:
        """End all workers, whoever uses them, and wait until they are gone."""
        runners = tuple(self._runners.values())
        for runner in runners:
            self._cancel_timer(runner)
            runner.state = State.STOPPING
        await asyncio.gather(*(runner.stop() for runner in runners))
        while self._background:
            await asyncio.gather(*self._background)

    def _release(self, runner: Runner) -> None:
        runner.session.end(self._clock.now())
        if runner.session.in_flight:
            return
        if runner.state is State.STOPPING:
            self._spawn(runner.stop())
        elif runner.state is State.READY:
            self.schedule(runner)

    async def _watch(self, runner: Runner) -> None:
        """Wait for the end of a worker, wanted or not."""
        ended = await runner.worker.wait_exit()
        if runner.state is State.READY:
            log.warning("%s: the worker has ended: %s", runner.spec.name, ended.reason)
            for line in ended.last_lines[-LOGGED_LINES:]:
                log.warning("worker %d: %s", runner.worker.pid, line)
        self.forget(runner)

    def _cancel_timer(self, runner: Runner) -> None:
        timer = self._timers.pop(runner.spec.key, None)
        if timer is not None:
            timer.cancel()

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
