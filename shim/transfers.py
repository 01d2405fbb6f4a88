"""Several downloads at the same time as one stream of progress: each one's newest state, five a second.

A slow reader never holds a download up. If the stream is closed, downloads that nobody else waits for stop,
and what they have stays for the next time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from mirrors.sources import Transfer, Wanted

INTERVAL_SECONDS = 0.2
QUIET_SECONDS = 10.0

Report = Callable[[Transfer], None]
Fetch = Callable[[Wanted, Report], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class PullProgress:
    """One item of a pull's stream. Counts are bytes; what is empty or 0 is left out of an answer.

    `mirror` is the site that serves now; `note` says what is being waited for.
    """

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0
    mirror: str = ""
    bytes_per_second: float = 0.0
    eta_seconds: float | None = None
    note: str = ""


@dataclass(slots=True)
class _Job:
    wanted: Wanted
    newest: PullProgress
    told: PullProgress | None = None
    told_at: float = 0.0
    digest: str = ""


@dataclass(slots=True)
class Transfers:
    """A set of downloads, `width` of them at the same time; `digests` are there when all are done."""

    fetch: Fetch
    wanted: Sequence[Wanted]
    width: int = 1
    digests: list[str] = field(default_factory=list)

    async def progress(self) -> AsyncGenerator[PullProgress, None]:
        """Carries them out. Raises what the first that fails raises; the others are stopped."""
        jobs = [_Job(wanted, _first(wanted)) for wanted in self.wanted]
        gate = asyncio.Semaphore(self.width)
        tasks = [asyncio.ensure_future(self._run(job, gate)) for job in jobs]
        clock = asyncio.get_running_loop().time
        try:
            waiting = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(
                    waiting, timeout=INTERVAL_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    task.result()
                for job in jobs:
                    if _is_worth_telling(job, clock()):
                        job.told, job.told_at = job.newest, clock()
                        yield job.newest
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.digests = [job.digest for job in jobs]

    async def _run(self, job: _Job, gate: asyncio.Semaphore) -> None:
        async with gate:

            def report(transfer: Transfer) -> None:
                job.newest = _item(job.wanted, transfer)

            job.digest = await self.fetch(job.wanted, report)
            total = job.newest.total or job.newest.completed
            job.newest = PullProgress(job.newest.status, job.newest.digest, total, total, job.newest.mirror)


def label_of(wanted: Wanted) -> str:
    """What progress is told apart by: the digest, or a file's name where nobody knows that yet."""
    return wanted.digest or wanted.name.removeprefix("pulling ")


def already_there(wanted: Wanted, size: int) -> PullProgress:
    """The one item of a blob that the store has."""
    return PullProgress(wanted.name, label_of(wanted), size, size)


def _first(wanted: Wanted) -> PullProgress:
    return PullProgress(wanted.name, label_of(wanted), wanted.size or 0)


def _item(wanted: Wanted, transfer: Transfer) -> PullProgress:
    return PullProgress(
        wanted.name,
        label_of(wanted),
        transfer.total or wanted.size or 0,
        transfer.completed,
        transfer.mirror,
        transfer.bytes_per_second,
        transfer.eta_seconds,
        transfer.note,
    )


def _is_worth_telling(job: _Job, now: float) -> bool:
    """What is new; and what is not, after a while, so that nobody takes silence for the end."""
    if job.told is None:
        return job.newest.total > 0 or job.newest.completed > 0
    if job.newest.completed and job.newest.completed == job.newest.total == job.told.completed:
        return False
    return job.newest != job.told or now - job.told_at >= QUIET_SECONDS
