"""Who fetches which bytes: hands out parts, takes them back, and moves work from slow hands to idle ones.

Pure: knows neither sources nor connections. A byte is in exactly one place: still to do, in one active part,
or done with. So no two connections ever write the same bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mirrors.parts import MIB, Spans

LEAST_PIECE = 64 << 10
WORTH_SECONDS = 0.7  # what ends sooner than this is not worth a new request
TAKEOVER_SECONDS = 3.0


@dataclass(slots=True, eq=False)
class Part:
    """A piece that somebody fetches, from `start` to `end`; bytes before `position` have come."""

    start: int
    end: int
    position: int

    @property
    def rest(self) -> int:
        return self.end - self.position


class Plan:
    """The bytes of one file that are still to come."""

    def __init__(self, todo: Spans, segment: int) -> None:
        self._todo = todo
        self._segment = segment
        self.active: set[Part] = set()

    @property
    def idle_work(self) -> bool:
        """Whether there are bytes that nobody fetches."""
        return bool(self._todo)

    @property
    def finished(self) -> bool:
        return not self._todo and not self.active

    @property
    def missing(self) -> int:
        return self._todo.total + sum(part.rest for part in self.active)

    def take(self) -> Part | None:
        """The lowest bytes that nobody fetches, up to the end of their segment."""
        if not self._todo:
            return None
        start, end = self._todo.first()
        return self._hand_out(start, min(end, (start // self._segment + 1) * self._segment))

    def take_after(self, offset: int) -> Part | None:
        """The first bytes from `offset` on that nobody fetches, to their end; for who reads a stream."""
        for start, end in self._todo:
            if end > offset:
                return self._hand_out(max(start, offset), end)
        return None

    def add(self, start: int, end: int) -> None:
        """More to do: bytes that were thought to be there and are not."""
        self._todo.add(start, end)

    def give_back(self, part: Part) -> None:
        """Nobody fetches this part any more; what has not come is to do again. Twice does no harm."""
        if part in self.active:
            self.active.discard(part)
            self._todo.add(part.position, part.end)

    def split(self, victim: Part, at: int) -> Part:
        """Another part gets what lies behind `at`; the victim ends there."""
        if not victim.position <= at < victim.end:
            raise ValueError(f"cannot split {victim} at {at}")
        thief = Part(at, victim.end, at)
        victim.end = at
        self.active.add(thief)
        return thief

    def _hand_out(self, start: int, end: int) -> Part:
        self._todo.remove(start, end)
        part = Part(start, end, start)
        self.active.add(part)
        return part


@dataclass(frozen=True, slots=True)
class Candidate:
    """An active part, its bytes a second (0: nothing comes) and how long somebody has been at it."""

    part: Part
    rate: float
    seconds: float


def where_to_steal(candidates: Iterable[Candidate], thief_rate: float) -> tuple[Part, int] | None:
    """From which part an idle worker with this rate takes work, and from which byte on; None: from nobody.

    The one that would take longest shares its rest in proportion to the two rates. Where the rest is too
    small for that and yet takes long, the worker takes all of it.
    """
    slowest = max(candidates, key=lambda one: _seconds_left(one, thief_rate), default=None)
    if slowest is None or slowest.part.rest == 0:
        return None
    left = _seconds_left(slowest, thief_rate)
    if left < WORTH_SECONDS:
        return None
    rate = _rate_of(slowest, thief_rate)
    piece = int(min(max(2 * rate, LEAST_PIECE), MIB))
    if rate > 0 and slowest.part.rest >= 2 * piece:
        share = rate / (rate + thief_rate) if thief_rate > 0 else 0.5
        kept = min(max(int(slowest.part.rest * share), LEAST_PIECE), slowest.part.rest - piece)
        return slowest.part, slowest.part.position + kept
    if slowest.seconds >= TAKEOVER_SECONDS <= left and slowest.part.rest < left * thief_rate / 2:
        return slowest.part, slowest.part.position
    return None


def _rate_of(one: Candidate, thief_rate: float) -> float:
    """Of somebody who has only begun, the best is believed."""
    return max(one.rate, thief_rate) if one.seconds < 1.0 else one.rate


def _seconds_left(one: Candidate, thief_rate: float) -> float:
    rate = _rate_of(one, thief_rate)
    if one.part.rest == 0:
        return 0.0
    return one.part.rest / rate if rate > 0 else float("inf")


