"""One model from the wish to load it until its worker is gone.

A runner knows its worker, who uses it and for how long it stays. When it is loaded, told to leave or replaced
is decided by `runtime.supervisor`.

    LOADING ──► READY ──► STOPPING ──► GONE    no new leases from STOPPING on; it leaves when the last one
       └──────────┴───────────────────► GONE   ends. A worker that dies, a load that fails: directly GONE.
"""

from __future__ import annotations

import asyncio
import enum
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from runtime import events
from runtime.eviction import Occupant
from runtime.fit import Fit
from runtime.free_memory import Held
from runtime.keepalive import Session
from runtime.options import LoadOptions
from runtime.process import WorkerProcess, start_worker
from runtime.reload import differing_options
from runtime.shape import ModelShape


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What to load. ``key`` is the identity of the weights and adapters; ``payload`` is the caller's own."""

    key: str
    path: str
    architecture: str
    shape: ModelShape
    name: str
    payload: object = None


class State(enum.Enum):
    """See the module's text."""

    LOADING = enum.auto()
    READY = enum.auto()
    STOPPING = enum.auto()
    GONE = enum.auto()


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A loaded model as it is shown. ``expires_at`` in seconds since 1970, None for never.

    ``size_bytes`` is all that it takes, ``vram_bytes`` the part on devices. ``info`` is None and ``pid`` 0
    while it is loading; ``progress`` goes from 0 to 1.
    """

    name: str
    spec: ModelSpec
    options: LoadOptions
    info: events.EngineInfo | None
    size_bytes: int
    vram_bytes: int
    expires_at: float | None
    context_length: int
    pid: int
    stopping: bool
    in_flight: int
    progress: float
    warnings: tuple[str, ...]


class Runner:
    """One loaded model. Made in state LOADING; ``start()`` makes it READY."""

    def __init__(self, spec: ModelSpec, asked: LoadOptions, fit: Fit, session: Session) -> None:
        self.spec = spec
        self.fit = fit
        self.session = session
        self.state = State.LOADING
        self.gone = asyncio.Event()
        self.info: events.EngineInfo | None = None
        self.names = {spec.name}
        self._asked = asked
        self._worker: WorkerProcess | None = None
        self._progress = 0.0

    @property
    def worker(self) -> WorkerProcess:
        """The process; only once it was started."""
        assert self._worker is not None
        return self._worker

    @property
    def usable(self) -> bool:
        """Whether a lease can be given."""
        return self.state is State.READY and self.worker.alive

    @property
    def device_bytes(self) -> int:
        """Memory on devices."""
        return min(self.info.device_bytes, self.fit.need.total) if self.info else 0

    def serves(self, options: LoadOptions, explicit: frozenset[str]) -> bool:
        """Whether a request with these options can run here."""
        shape, effective = self.spec.shape, self.fit.options
        return not differing_options(shape, self._asked, effective, options, explicit)

    async def start(self, command: Sequence[str], stall_seconds: float | None) -> None:
        """Start the worker and load. LoadFailed, and then the worker is gone."""
        self._worker = await start_worker(command)
        try:
            self.info = await self._worker.load(self._load_message(), stall_seconds, self._set_progress)
        except BaseException:
            self._worker.kill()
            await self._worker.stop()
            raise
        self.state = State.READY

    async def stop(self) -> None:
        """End the worker, whoever uses it."""
        if self._worker is not None:
            await self._worker.stop()

    def occupant(self) -> Occupant:
        """As eviction sees it."""
        session = self.session
        stopping = self.state is State.STOPPING
        return Occupant(self.spec.key, session.seconds, session.in_flight, session.last_used, stopping)

    def held(self) -> Held:
        """What memory must be kept back for it."""
        return Held(self._worker.pid if self._worker else 0, self.fit.need.total - self.device_bytes)

    def view(self) -> LoadedModel:
        """As it is shown."""
        expires_at = self.session.expires_at
        return LoadedModel(
            name=self.spec.name,
            spec=self.spec,
            options=self.fit.options,
            info=self.info,
            size_bytes=self.fit.need.total,
            vram_bytes=self.device_bytes,
            expires_at=None if math.isinf(expires_at) else expires_at,
            context_length=self.info.num_ctx if self.info else self.fit.options.num_ctx,
            pid=self._worker.pid if self._worker else 0,
            stopping=self.state is State.STOPPING,
            in_flight=self.session.in_flight,
            progress=self._progress,
            warnings=self.fit.warnings,
        )

    def _load_message(self) -> events.Load:
        """The worker has a working directory of its own, so the path must not depend on it."""
        return events.Load(os.path.abspath(self.spec.path), self.fit.options, self.spec.architecture)

    def _set_progress(self, fraction: float) -> None:
        self._progress = fraction
