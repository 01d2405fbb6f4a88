"""How fast something is, and whether it is slower than it ought to be. Pure: the time is an argument."""

import statistics
from collections import deque
from collections.abc import Sequence

SLOW_SHARE = 0.15
PEERS = 4


class Meter:
    """Bytes a second over the last `window` seconds, or since the first byte if that is less."""

    def __init__(self, window: float = 5.0) -> None:
        self._window = window
        self._began: float | None = None
        self._marks: deque[tuple[float, int]] = deque()
        self._sum = 0

    def add(self, count: int, now: float) -> None:
        if self._began is None:
            self._began = now
        if self._marks and now - self._marks[-1][0] < self._window / 50:
            at, held = self._marks[-1]
            self._marks[-1] = (at, held + count)
        else:
            self._marks.append((now, count))
        self._sum += count
        self._forget(now)

    def rate(self, now: float) -> float:
        if self._began is None:
            return 0.0
        self._forget(now)
        return self._sum / max(min(self._window, now - self._began), 0.1)

    def _forget(self, now: float) -> None:
        while self._marks and self._marks[0][0] < now - self._window:
            self._sum -= self._marks.popleft()[1]


def is_slow(rate: float, peers: Sequence[float], usual: float) -> bool:
    """Whether a connection deserves to be replaced: it is far below its peers.

    With fewer than four peers, `usual` (what its source gave lately, 0 if unknown) is the measure. Where all
    are equally slow the line is slow, and nobody is replaced.
    """
    measure = statistics.median(peers) if len(peers) >= PEERS else usual
    return rate < SLOW_SHARE * measure


class Ramp:
    """How many connections are worth having. Doubles while that pays, then tries one more or one less.

    Told once per window what all connections together gave; `count` is what it wants now.
    """

    CLIMB_EVERY = 10  # windows
    WORTH = 1.05

    def __init__(self, first: int, most: int) -> None:
        self.count = min(first, most)
        self._most = most
        self._before: tuple[int, float] | None = None
        self._doubling = True
        self._step = 1
        self._windows = 0

    def told(self, rate: float) -> int:
        """A window has passed at this rate (bytes a second)."""
        if self._doubling:
            self._double(rate)
        else:
            self._climb(rate)
        return self.count

    def _double(self, rate: float) -> None:
        if self._before is not None:
            count, earlier = self._before
            grown = (self.count - count) / count
            if rate < earlier * (1 + grown / 2):
                # Stays where it is: the connections are open and cost nothing, and the line is full
                self._doubling, self._before = False, (self.count, rate)
                return
        if self.count >= self._most:
            self._doubling, self._before = False, (self.count, rate)
            return
        self._before = (self.count, rate)
        self.count = min(self.count * 2, self._most)

    def _climb(self, rate: float) -> None:
        self._windows += 1
        if self._windows % self.CLIMB_EVERY:
            return
        count, earlier = self._before or (self.count, rate)
        if self.count != count and rate < earlier * self.WORTH:
            self.count, self._step = count, -self._step  # it did not pay: back, and the other way next
            self._before = None
            return
        self._before = (self.count, rate)
        self.count = min(max(self.count + self._step, 1), self._most)
