"""What is thought of sources and hosts while a download runs: who is asked next, who is left alone, and why.

No requests are made here; the time is an argument.
"""

import asyncio
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from mirrors.answers import Fault
from mirrors.backoff import Backoff
from mirrors.limits import Limits
from mirrors.sources import Access, Source

MOST_ANOMALIES = 3
MOST_RENEWALS = 2  # without a byte of progress in between
LIFE_SHARE = 0.8
TRIED_FIRST = 3
_PREFERENCE = 0.97  # of two that are about equal the one that the caller named first
_CROWDING = 0.02


@dataclass(frozen=True, slots=True)
class Target:
    """Where a source's bytes really are. `until`: when that address should be asked for anew."""

    url: str
    secrets: Mapping[str, str]
    access: Access
    until: float = float("inf")


@dataclass(eq=False, slots=True)
class Standing:
    """One source of one blob."""

    source: Source
    rank: int
    backoff: Backoff = field(default_factory=lambda: Backoff(random.random))
    target: Target | None = None
    targets: int = 0  # how many addresses there were: tells a worker whether its own is still the newest
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    connections: int = 0
    rate: float = 0.0  # of one connection, averaged
    anomalies: int = 0
    renewals: int = 0
    renewed_at: float = float("-inf")
    stalls: int = 0
    no_range: bool = False
    blocked_until: float = 0.0
    dropped: Fault | None = None
    refused: bool = False
    last_error: str = ""

    @property
    def reason(self) -> str:
        """One line for the final message."""
        return f"{self.source.mirror}: {self.last_error or 'nothing came'}"

    def usable(self, now: float) -> bool:
        return self.dropped is None and now >= self.blocked_until

    def drop(self, fault: Fault, why: str) -> None:
        self.dropped, self.last_error = fault, why

    def failed(self, why: str, now: float, told: float | None = None) -> None:
        if self.dropped is None:
            self.last_error = why
        self.blocked_until = max(self.blocked_until, now + self.backoff.failed(told))

    def anomaly(self, why: str, now: float) -> None:
        self.anomalies += 1
        self.failed(why, now)
        if self.anomalies >= MOST_ANOMALIES:
            self.drop("anomaly", why)

    def renewing(self, why: str, now: float) -> bool:
        """A new address is about to be asked for; False where that has been in vain too often."""
        self.renewals += 1
        if self.renewals > MOST_RENEWALS:
            self.drop("denied", why)
            return False
        self.blocked_until = max(self.blocked_until, self.renewed_at + 1.0)
        self.renewed_at = now
        self.target = None
        self.targets += 1
        self.last_error = why
        return True

    def received(self, count: int) -> None:
        self.backoff.received(count)
        self.renewals = 0

    def measured(self, rate: float) -> None:
        """A connection has shown what it can do."""
        self.rate = rate if self.rate == 0 else 0.7 * self.rate + 0.3 * rate


def choose(standings: Iterable[Standing], free: Mapping[Standing, int], now: float) -> Standing | None:
    """The source for the next connection: one that is not tried yet, of the first three, else the fastest.

    `free`: connections that its host still allows. Those that send whole files only come last.
    """
    able = [one for one in standings if one.usable(now) and free[one] > 0]
    ranged = [one for one in able if not one.no_range]
    fresh = [one for one in ranged if one.rate == 0 and one.connections == 0 and one.rank < TRIED_FIRST]
    if fresh:
        return min(fresh, key=lambda one: one.rank)
    if ranged:
        return max(ranged, key=_worth)
    return min((one for one in able if one.connections == 0), key=lambda one: one.rank, default=None)


def _worth(one: Standing) -> tuple[float, int]:
    """What another connection would bring; those that a source has already take a little from each other."""
    return one.rate * _PREFERENCE**one.rank * (1 - _CROWDING * min(one.connections, 20)), -one.rank


class Hosts:
    """How many connections each host gets from this process, and all hosts together."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._used: dict[str, int] = {}
        self._allowed: dict[str, float] = {}
        self._held_until: dict[str, float] = {}
        self._left_alone: dict[str, float] = {}

    def free(self, host: str, most: int, now: float) -> int:
        """How many more this host may get. After a refusal it is few, and one more every ten seconds."""
        if now < self._left_alone.get(host, 0.0):
            return 0
        limit = min(most or self._limits.connections_of_host, self._limits.connections_of_host)
        if host in self._allowed:
            waited = now - self._held_until[host]
            grown = self._allowed[host] + max(0.0, waited) // 10
            if grown >= limit:
                del self._allowed[host], self._held_until[host]
            limit = min(limit, int(grown))
        in_all = self._limits.connections_in_all - sum(self._used.values())
        return min(limit - self._used.get(host, 0), in_all)

    def take(self, host: str) -> None:
        self._used[host] = self._used.get(host, 0) + 1

    def give_back(self, host: str) -> None:
        self._used[host] -= 1
        if not self._used[host]:
            del self._used[host]

    def leave_alone(self, host: str, until: float) -> None:
        """It named a time before which it wants no request."""
        self._left_alone[host] = max(until, self._left_alone.get(host, 0.0))

    def refused(self, host: str, now: float) -> None:
        """It says that we ask too much: half as many from now on. Refusals in one breath count once."""
        if now < self._held_until.get(host, 0.0) - self._limits.hold_seconds + 1.0:
            return
        self._allowed[host] = max(1, (self._used.get(host, 1) + 1) // 2)
        self._held_until[host] = now + self._limits.hold_seconds


def life_seconds(url: str, now: datetime) -> float | None:
    """How long a signed address will be good, from what it says itself; None where it says nothing.

    `X-Amz-Date` with `X-Amz-Expires` (AWS signature version 4), or `Expires` as seconds since 1970.
    """
    query = {name.lower(): values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    since, seconds, until = (query.get(name, "") for name in ("x-amz-date", "x-amz-expires", "expires"))
    if re.fullmatch(r"\d{8}T\d{6}Z", since) and re.fullmatch(r"\d{1,9}", seconds):
        try:
            began = datetime.strptime(since, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError:
            return None
        return (began - now).total_seconds() + float(seconds)
    if re.fullmatch(r"\d{9,11}", until):
        return float(until) - now.timestamp()
    return None
