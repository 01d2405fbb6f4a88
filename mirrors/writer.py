"""Between connections and the disk: collects what comes, writes it in a thread, and knows what is safe.

Many small pieces become few writes: while one batch is written the next one gathers. Every few seconds what
is written is also pushed to the disk, in another thread, so that losing power costs little.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from mirrors.disk import Piece, WorkFile
from mirrors.errors import DiskFailed
from mirrors.parts import MIB, Span, Spans
from mirrors.plan import Plan
from mirrors.verify import Front

_MOST_WAITING = 8 * MIB
_BATCH_BYTES = 256 << 10
_BATCH_SECONDS = 0.03
_SYNC_BYTES = 64 * MIB
_SYNC_SECONDS = 5.0


class Writer:
    """Writes pieces into a work file. One a download; `run` is its task, `finish` ends it."""

    def __init__(self, work: WorkFile) -> None:
        self.work = work
        self.front = Front(work.read)
        self.proved = work.claimed if work.clean else Spans()
        self.failure: Exception | None = None
        self.all_proved = work.clean or not work.runs
        self._threads = ThreadPoolExecutor(1, "download-write")
        self._reading = ThreadPoolExecutor(1, "download-check")
        self._pieces: list[Piece] = []
        self._waiting = 0
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._closing = False
        self._syncing: asyncio.Future[None] | None = None
        self._unsynced, self._synced_at = 0, time.monotonic()
        self._task = asyncio.create_task(self._run())
        self.front.advance(self.proved.reach())

    def put(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._waiting += len(piece.data)
        self._idle.clear()
        self._wake.set()

    async def room(self) -> None:
        """Returns once there is room for more. Raises what writing raised."""
        while self._waiting > _MOST_WAITING:
            self.check()
            await asyncio.sleep(0.005)
        self.check()

    def check(self) -> None:
        """Raises what writing raised, if it did."""
        if self.failure is not None:
            raise self.failure

    async def written(self) -> None:
        """Returns once all that was put is written. Raises DiskFailed."""
        self._wake.set()
        await self._idle.wait()
        self.check()

    async def prove(self, plan: Plan) -> None:
        """Reads what an earlier process claimed, and gives back to the plan what is not as it says."""
        loop = asyncio.get_running_loop()
        for run in sorted(self.work.runs.values(), key=lambda run: run.start):
            points = await loop.run_in_executor(self._reading, self.work.good_points, run)
            if points < len(run.points):
                span = await self.in_thread_forget(run.start, points)
                plan.add(*span)
            self.proved.add(run.start, run.end)
            self.front.advance(self.proved.reach())
        self.all_proved = True

    async def in_thread_forget(self, start: int, points: int = 0) -> Span:
        """Unclaims what a run has after so many points; returns those bytes."""
        run = self.work.runs[start]
        loop = asyncio.get_running_loop()
        span = await loop.run_in_executor(self._threads, self.work.forget, run, points)
        self.proved.remove(*span)
        return span

    async def replace(self, offset: int, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self.work.replace, offset, data)

    async def digest(self, *, again: bool = False) -> str:
        """SHA-256 of the whole file. `again`: bytes changed that were hashed before. Raises DiskFailed."""
        loop = asyncio.get_running_loop()
        if again:
            await loop.run_in_executor(None, self.front.restart)
        return await loop.run_in_executor(None, self.front.digest, self.work.header.size)

    async def finish(self, *, orderly: bool) -> None:
        """Writes what waits and closes the file. Raises DiskFailed only if `orderly`."""
        self._closing = True
        self._wake.set()
        await self._task
        if self._syncing is not None:
            await asyncio.wait([self._syncing])
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.front.stop)
        orderly_close = self.failure is None and self.all_proved
        try:
            await loop.run_in_executor(self._threads, lambda: self.work.close(orderly=orderly_close))
        except DiskFailed:
            if orderly:
                raise
        finally:
            self._threads.shutdown(wait=False)
            self._reading.shutdown(wait=False)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._waiting < _BATCH_BYTES and not self._closing and self._pieces:
                await asyncio.sleep(_BATCH_SECONDS)
            pieces, self._pieces = self._pieces, []
            if pieces and self.failure is None:
                await self._write(pieces)
            self._waiting -= sum(len(piece.data) for piece in pieces)
            if not self._pieces:
                self._idle.set()
                if self._closing:
                    return

    async def _write(self, pieces: list[Piece]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, self.work.write, pieces)
        except Exception as error:  # noqa: BLE001  whatever it is, it reaches the download by `check`
            self.failure = error
            return
        for piece in pieces:
            self.proved.add(piece.offset, piece.offset + len(piece.data))
            self._unsynced += len(piece.data)
        self.front.advance(self.proved.reach())
        self._maybe_sync()

    def _maybe_sync(self) -> None:
        now = time.monotonic()
        due = self._unsynced >= _SYNC_BYTES or now - self._synced_at >= _SYNC_SECONDS
        if due and (self._syncing is None or self._syncing.done()):
            if self._syncing is not None and (error := self._syncing.exception()) is not None:
                self.failure = self.failure or DiskFailed(str(error))
                return
            self._unsynced, self._synced_at = 0, now
            self._syncing = asyncio.get_running_loop().run_in_executor(self._reading, self.work.sync)
