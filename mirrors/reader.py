"""One connection: asks one source for one part, decides what the answer is worth, and hands on what comes.

Faults of the network end up in the source's standing and never as exceptions; who called sees how far the
part got. Only the disk's faults and a cancel are raised.
"""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp

from mirrors.answers import Accepted, Asked, Rejected, judge
from mirrors.backoff import told_seconds
from mirrors.disk import Piece
from mirrors.errors import MirrorsError, Refused
from mirrors.http import Answer, HttpClient, host_of, origin_of
from mirrors.journal import Run
from mirrors.limits import Bucket
from mirrors.parts import SMALL_BYTES
from mirrors.plan import Part, Plan
from mirrors.resolver import explain
from mirrors.sources import Wanted
from mirrors.stall import Meter
from mirrors.standing import LIFE_SHARE, Hosts, Standing, Target, life_seconds
from mirrors.writer import Writer

_MOST_SHOWN = 200
_MOST_PAGE_BYTES = 64 << 10


@dataclass(eq=False, slots=True)
class Flight:
    """A connection at work."""

    standing: Standing
    part: Part
    began: float
    last_byte: float
    host: str
    meter: Meter = field(default_factory=Meter)
    run: Run | None = None
    received: int = 0
    clock: asyncio.Timeout | None = None
    ended_by: str = ""

    def end(self, why: str) -> None:
        """Breaks the connection off; `why` is "" if that is nobody's fault."""
        if self.clock is not None and self.clock.when() is None:
            self.ended_by = why
            self.clock.reschedule(0)


class Reader:
    """Reads for one download. `told` hears of every byte that is accepted."""

    def __init__(
        self,
        wanted: Wanted,
        size: int,
        client: HttpClient,
        hosts: Hosts,
        bucket: Bucket,
        plan: Plan,
        writer: Writer,
        told: Callable[[int], None],
    ) -> None:
        self._wanted, self._size = wanted, size
        self._client, self._hosts, self._bucket = client, hosts, bucket
        self._plan, self._writer, self._told = plan, writer, told

    async def fetch(self, flight: Flight) -> None:
        """Gets what it can of the flight's part."""
        standing = flight.standing
        now = time.monotonic
        try:
            async with asyncio.timeout(None) as flight.clock:
                await self._ask(flight)
        except Refused as error:
            standing.refused = True
            standing.drop("proxy", str(error))
        except TimeoutError as error:
            if flight.clock is None or not flight.clock.expired():
                standing.failed(explain(error, flight.host), now())
            elif flight.ended_by:
                standing.stalls += 1
                self._client.stalled(standing.target.url if standing.target else standing.source.url)
                standing.failed(flight.ended_by, now())
        except aiohttp.ClientConnectorCertificateError as error:
            standing.drop("proxy", explain(error, flight.host))
        except (aiohttp.ClientError, OSError) as error:
            standing.failed(explain(error, flight.host), now())

    async def _ask(self, flight: Flight) -> None:
        """With the first request to a source its final address is learnt; until then others wait for it."""
        standing, part = flight.standing, flight.part
        learning = await self._begin_learning(standing)
        if standing.no_range and standing.connections > 1 and not learning:
            return  # it sends whole files only, and one stream of it is enough
        if not standing.usable(time.monotonic()):  # whoever asked before us was turned away
            if learning:
                standing.asking.release()
            return
        try:
            target = standing.target or Target(
                standing.source.url, standing.source.headers, standing.source.access
            )
            generation = standing.targets
            flight.host = host_of(target.url)
            asked = self._asked(flight)
            headers = {"Range": f"bytes={part.position}-{part.end - 1}"} if asked.ranged else {}
            if asked.ranged and self._wanted.digest is None and _is_strong(standing.source.etag):
                headers["If-Range"] = standing.source.etag
            flight.last_byte = time.monotonic()
            async with self._client.request(
                "GET", target.url, headers, target.secrets, target.access
            ) as answer:
                flight.host = host_of(answer.url)
                verdict = self._changed(standing, answer) or judge(
                    asked, answer.response.status, answer.response.headers
                )
                if isinstance(verdict, Rejected):
                    await self._rejected(flight, answer, verdict, None if learning else generation)
                    return
                if learning:
                    self._learn(standing, answer, whole=verdict.whole)
                    standing.asking.release()
                    learning = False
                await self._read(flight, answer, verdict)
        finally:
            if learning:
                standing.asking.release()

    def _changed(self, standing: Standing, answer: Answer) -> Rejected | None:
        """Without a digest only the ETag tells that parts belong together."""
        before, now = standing.source.etag, answer.response.headers.get("ETag", "")
        if self._wanted.digest is None and before and now and before != now:
            return Rejected("other", "has another file now than when the download began")
        return None

    async def _begin_learning(self, standing: Standing) -> bool:
        """Whether this request is the one that learns the address; it then holds `asking`."""
        if standing.target is not None and time.monotonic() < standing.target.until:
            return False
        await standing.asking.acquire()
        if standing.target is not None and time.monotonic() < standing.target.until:
            standing.asking.release()
            return False
        standing.target = None
        return True

    def _asked(self, flight: Flight) -> Asked:
        part, size = flight.part, self._size
        all_at_once = part.position == 0 and part.end == size and size < SMALL_BYTES
        ranged = not (flight.standing.no_range or all_at_once)
        return Asked(part.position, part.end, size, ranged)

    def _learn(self, standing: Standing, answer: Answer, *, whole: bool) -> None:
        source = standing.source
        same = origin_of(source.url) == origin_of(answer.url)
        life = life_seconds(answer.url, _server_time(answer)) if answer.url != source.url else None
        until = float("inf") if life is None else time.monotonic() + max(life, 1.0) * LIFE_SHARE
        standing.no_range |= whole and self._size >= SMALL_BYTES
        standing.target = Target(answer.url, source.headers if same else {}, answer.access, until)
        standing.targets += 1

    async def _read(self, flight: Flight, answer: Answer, verdict: Accepted) -> None:
        if verdict.whole and self._size >= SMALL_BYTES:
            flight.standing.no_range = True
        at = verdict.start - verdict.skip
        body = answer.response.content
        while verdict.end is None or at < verdict.end:
            data = await body.readany()
            if not data:
                break
            flight.last_byte = time.monotonic()
            if (wait := self._bucket.take(len(data), flight.last_byte)) > 0:
                flight.last_byte += wait  # our own brake is no stall
                await asyncio.sleep(wait)
            at = self._accept(flight, memoryview(data), at, whole=verdict.whole)
            await self._writer.room()
            if flight.part.rest == 0:
                return
        if flight.part.rest and (verdict.end is None or at < verdict.end):
            why = "sent nothing" if flight.received == 0 else "ended before all had come"
            flight.standing.failed(f"{flight.host} {why}", time.monotonic())

    def _accept(self, flight: Flight, data: memoryview, at: int, *, whole: bool) -> int:
        """Takes what is wanted of bytes that stand at `at`; of a whole file the next part, too."""
        while data:
            part = flight.part
            if part.rest == 0:
                following = self._plan.take_after(at) if whole else None
                if following is None:
                    break
                self._plan.give_back(part)
                flight.part, flight.run = following, None
            elif at < part.position:
                count = min(len(data), part.position - at)
                at, data = at + count, data[count:]
            else:
                count = min(len(data), part.rest)
                self._take(flight, data[:count], at)
                at, data = at + count, data[count:]
        return at

    def _take(self, flight: Flight, data: memoryview, at: int) -> None:
        starts = self._wanted.starts_with
        if at == 0 and starts and not any(_fits(data, start) for start in starts):
            flight.standing.drop("other", "sent something else than the file: it begins differently")
            raise aiohttp.ClientPayloadError("other content")
        if flight.run is None:
            flight.run = Run(at, flight.standing.source.mirror)
        self._writer.put(Piece(flight.run, at, data))
        flight.part.position += len(data)
        flight.received += len(data)
        flight.meter.add(len(data), time.monotonic())
        flight.standing.received(len(data))
        self._told(len(data))

    async def _rejected(self, flight: Flight, answer: Answer, verdict: Rejected, used: int | None) -> None:
        standing, now = flight.standing, time.monotonic()
        why = verdict.why + await _shown(answer.response, verdict)
        told = told_seconds(answer.response.headers, time.time())
        moved = standing.target is not None and standing.target.url != standing.source.url
        if verdict.fault == "denied" or (verdict.fault == "missing" and moved):
            await self._denied(standing, why, used, moved=moved)
        elif verdict.fault == "busy":
            if answer.response.status in (429, 503):
                self._hosts.refused(standing.source.host, now)
                if told is not None:
                    self._hosts.leave_alone(standing.source.host, now + told)
            standing.failed(why, now, told)
        elif verdict.fault == "no_range":
            standing.no_range = True
            standing.last_error = why
        elif verdict.fault in ("anomaly", "empty"):
            standing.anomaly(why, now)
        else:
            standing.drop(verdict.fault, why)

    async def _denied(self, standing: Standing, why: str, used: int | None, *, moved: bool) -> None:
        """The address has run out, or the token: a new one, asked for once for all workers.

        `used`: which of the addresses was refused; None if this worker holds `asking` and has the newest.
        """
        if used is None:
            await self._renew(standing, why, moved=moved)
            return
        async with standing.asking:
            if standing.targets == used:
                await self._renew(standing, why, moved=moved)

    async def _renew(self, standing: Standing, why: str, *, moved: bool) -> None:
        renew = standing.source.renew
        if not moved and renew is None:
            standing.drop("denied", why)
        elif standing.renewing(why, time.monotonic()) and not moved and renew is not None:
            try:
                fresh = await renew()
            except (MirrorsError, aiohttp.ClientError, OSError) as error:
                standing.failed(f"{why}; asking again: {error}"[:300], time.monotonic())
            else:
                standing.source = replace(fresh, renew=fresh.renew or renew)


def _is_strong(etag: str) -> bool:
    return etag.startswith('"')


def _fits(data: memoryview, start: bytes) -> bool:
    length = min(len(data), len(start))
    return data[:length] == start[:length]


def _server_time(answer: Answer) -> datetime:
    try:
        return parsedate_to_datetime(answer.response.headers.get("Date", "")).astimezone(UTC)
    except (ValueError, TypeError):
        return datetime.now(UTC)


async def _shown(response: aiohttp.ClientResponse, verdict: Rejected) -> str:
    """A little of the page that came instead of the file, for the message."""
    kind = response.headers.get("Content-Type", "").lower()
    if verdict.fault in ("no_range", "empty", "other") or not kind.startswith(("text/", "application/json")):
        return ""
    text = b""
    with suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(5):
            text = await response.content.read(_MOST_PAGE_BYTES)
    plain = re.sub(r"<[^>]*>|\s+", " ", text[:4096].decode("utf-8", "replace"))
    plain = "".join(letter for letter in plain if letter.isprintable())
    plain = " ".join(plain.split())[:_MOST_SHOWN]
    return f': "{plain}"' if plain else ""
