"""One blob on its way: puts connections to work, watches over them, and says how far it is.

The decisions are those of `plan`, `stall` and `standing`; this carries them out, tick by tick.
"""

import asyncio
import statistics
import time
from collections.abc import Callable

from mirrors.disk import WorkFile
from mirrors.errors import DownloadFailed, NotPermitted, NotThere, Refused, Unreachable, WrongContent
from mirrors.http import HttpClient
from mirrors.limits import Bucket, Limits
from mirrors.parts import segment_bytes
from mirrors.plan import Candidate, Part, Plan, where_to_steal
from mirrors.reader import Flight, Reader
from mirrors.sources import Transfer, Wanted
from mirrors.stall import Meter, Ramp, is_slow
from mirrors.standing import Hosts, Standing, choose
from mirrors.writer import Writer

TICK_SECONDS = 0.05
_TOLD_EVERY_SECONDS = 0.2
_WAITING_SECONDS = 2.0
_SETTLE_SECONDS = 2.0


class Fetching:
    """Fetches what a work file lacks. `tell` gets news at most five times a second."""

    def __init__(
        self,
        wanted: Wanted,
        work: WorkFile,
        client: HttpClient,
        hosts: Hosts,
        limits: Limits,
        bucket: Bucket,
        tell: Callable[[Transfer], None],
    ) -> None:
        self.wanted, self.limits = wanted, limits
        self.size = work.header.size
        self.standings = [Standing(source, rank) for rank, source in enumerate(wanted.sources)]
        self.writer = Writer(work)
        self.plan = Plan(work.claimed.gaps(self.size), segment_bytes(self.size))
        self.reader = Reader(wanted, self.size, client, hosts, bucket, self.plan, self.writer, self._received)
        self.flights: set[Flight] = set()
        self.note = ""
        self._hosts, self._bucket, self._tell = hosts, bucket, tell
        self._ramp = Ramp(limits.first_connections, limits.connections)
        self._tasks: set[asyncio.Task[None]] = set()
        self._meter = Meter()
        self._window_bytes, self._window_began = 0, 0.0
        self._last_byte = self._settled_at = time.monotonic()
        self._told_at, self._shown = 0.0, 0

    async def fetch(self) -> None:
        """Returns once all bytes are written and none is in doubt. Raises DownloadFailed."""
        proving = asyncio.create_task(self.writer.prove(self.plan)) if not self.writer.all_proved else None
        self._last_byte = time.monotonic()
        try:
            while not (self.plan.finished and (proving is None or proving.done())):
                self._tick(time.monotonic())
                waiting = {*self._tasks, *([proving] if proving and not proving.done() else [])}
                if waiting:
                    await asyncio.wait(waiting, timeout=TICK_SECONDS)
                else:
                    await asyncio.sleep(TICK_SECONDS)
            if proving is not None:
                await proving
            await self.writer.written()
            self.tell(time.monotonic())
        finally:
            await _cancelled({*self._tasks, *([proving] if proving else [])})

    def _tick(self, now: float) -> None:
        self.writer.check()
        self._tasks = {task for task in self._tasks if not self._over(task)}
        self._give_up(now)
        self._watch(now)
        self._measure(now)
        # A source that could not be tried before gets one connection more, to show what it can do
        untried = any(one.usable(now) and not one.rate and not one.connections for one in self.standings)
        for _ in range(self._ramp.count + untried - len(self.flights)):
            flight = self._assign(now)
            if flight is None:
                break
            self._tasks.add(asyncio.create_task(self._work(flight)))
        if now - self._told_at >= _TOLD_EVERY_SECONDS:
            self.tell(now)

    def _over(self, task: asyncio.Task[None]) -> bool:
        if not task.done():
            return False
        task.result()
        return True

    async def _work(self, first: Flight) -> None:
        """Flies one part after another, until there is nothing to do or nobody to ask."""
        flight: Flight | None = first
        while flight is not None:
            try:
                await self.reader.fetch(flight)
            finally:
                self._landed(flight)
            self.writer.check()
            now = time.monotonic()
            flight = self._assign(now) if len(self.flights) < self._ramp.count else None

    def _assign(self, now: float) -> Flight | None:
        """Somebody to ask and something to ask for, both marked as taken; None if there is no such pair."""
        free = {
            one: self._hosts.free(one.source.host, one.source.connections, now) for one in self.standings
        }
        standing = choose(self.standings, free, now)
        if standing is None:
            return None
        if standing.no_range:
            part = self.plan.take_after(0)
        else:
            part = self.plan.take() or self._steal(standing, now)
        if part is None:
            return None
        flight = Flight(standing, part, now, now, standing.source.host)
        standing.connections += 1
        self._hosts.take(standing.source.host)
        self.flights.add(flight)
        return flight

    def _steal(self, standing: Standing, now: float) -> Part | None:
        if self._bucket.brakes(now):
            return None
        rates = [flight.meter.rate(now) for flight in self.flights]
        rate = standing.rate or (statistics.median(rates) if rates else 0.0)
        by_part = {flight.part: flight for flight in self.flights if flight.part in self.plan.active}
        candidates = [
            Candidate(part, flight.meter.rate(now), now - flight.began) for part, flight in by_part.items()
        ]
        found = where_to_steal(candidates, rate)
        if found is None:
            return None
        victim, at = found
        part = self.plan.split(victim, at)
        if victim.rest == 0:
            by_part[victim].end("")
        return part

    def _landed(self, flight: Flight) -> None:
        now = time.monotonic()
        self.plan.give_back(flight.part)
        self.flights.discard(flight)
        flight.standing.connections -= 1
        self._hosts.give_back(flight.standing.source.host)
        if flight.received and now - flight.began > 0.2:
            flight.standing.measured(flight.received / (now - flight.began))

    def _watch(self, now: float) -> None:
        """Breaks off connections over which nothing comes, and those far slower than the others."""
        for flight in self.flights:
            if now - flight.last_byte > self._patience(flight):
                flight.end(f"{flight.host} sent nothing for {now - flight.last_byte:.0f} s")
            elif now - flight.began > self.limits.slow_seconds and flight.received:
                peers = [other.meter.rate(now) for other in self.flights if other is not flight]
                if is_slow(flight.meter.rate(now), peers, flight.standing.rate):
                    flight.end("")

    def _patience(self, flight: Flight) -> float:
        if not flight.received:
            return self.limits.first_byte_seconds
        longest = self.limits.longest_between_reads_seconds
        return min(self.limits.between_reads_seconds * 2.0 ** min(flight.standing.stalls, 10), longest)

    def _measure(self, now: float) -> None:
        """Closes a window of measuring when it is over, and lets the number of connections follow."""
        all_fly = all(flight.received for flight in self.flights)
        if not all_fly and now - self._settled_at < _SETTLE_SECONDS:
            self._window_began = 0.0
            return
        if not self._window_began:
            self._window_began, self._window_bytes = now, 0
        elif now - self._window_began >= self.limits.ramp_seconds:
            # Where hosts allow no more, or there is no more to do, a rate says nothing about the number
            if len(self.flights) >= self._ramp.count:
                before = self._ramp.count
                self._ramp.told(self._window_bytes / (now - self._window_began))
                self._settled_at = now if self._ramp.count != before else self._settled_at
            self._window_began = 0.0

    def _received(self, count: int) -> None:
        self._last_byte = time.monotonic()
        self._window_bytes += count
        self._meter.add(count, self._last_byte)

    def _give_up(self, now: float) -> None:
        """Raises DownloadFailed if waiting makes no sense any more."""
        if self.flights or not (self.plan.idle_work or self.plan.active):
            if self.limits.give_up_seconds and now - self._last_byte > self.limits.give_up_seconds:
                raise self.failure()
            return
        if all(one.dropped is not None for one in self.standings):
            raise self.failure()
        if self.limits.give_up_seconds and now - self._last_byte > self.limits.give_up_seconds:
            raise self.failure()

    def failure(self) -> DownloadFailed:
        """Why no source is any use, as one error."""
        name, reasons = self.wanted.name, tuple(one.reason for one in self.standings)
        faults = {one.dropped for one in self.standings}
        if any(one.refused for one in self.standings):
            return Refused(f"cannot fetch {name}", reasons)
        if faults == {"missing"}:
            return NotThere(f"cannot fetch {name}: no source has it", reasons)
        if "denied" in faults and None not in faults:
            return NotPermitted(
                f"cannot fetch {name}: access denied; is it private, or is a token missing or wrong?", reasons
            )
        if faults & {"other", "anomaly", "no_range", "empty"} and None not in faults:
            return WrongContent(f"cannot fetch {name}: no source sends what was promised", reasons)
        return Unreachable(f"cannot fetch {name}: no source answers; what has come is kept", reasons)

    def tell(self, now: float, note: str = "") -> None:
        """News for whoever shows it. What is in doubt makes the figure wait, never drop."""
        self._told_at = now
        self._shown = max(self._shown, self.size - self.plan.missing)
        rate = self._meter.rate(now)
        left = self.plan.missing / rate if rate > 0 else None
        note = note or self._waiting_for(now)
        self._tell(Transfer(self._shown, self.size, rate, left, self._busiest(now), note))

    def _busiest(self, now: float) -> str:
        rates: dict[str, float] = {}
        for flight in self.flights:
            name = flight.standing.source.mirror
            rates[name] = rates.get(name, 0.0) + flight.meter.rate(now) + 1e-9
        return max(rates, key=lambda name: rates[name], default=self.standings[0].source.mirror)

    def _waiting_for(self, now: float) -> str:
        waited = now - self._last_byte
        if waited < _WAITING_SECONDS or self.plan.finished:
            return ""
        reasons = [one.reason for one in self.standings if one.last_error]
        return f"waiting {waited:.0f} s" + (f": {reasons[0]}" if reasons else "")


async def _cancelled(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
