"""Time that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class ManualTimer:
    """One call that is due at a time."""

    at: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A `runtime.clock.Clock`."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._timers: list[ManualTimer] = []

    @property
    def pending(self) -> list[float]:
        """Seconds from now of the timers that are still to come."""
        return sorted(timer.at - self._now for timer in self._timers if not timer.cancelled)

    def now(self) -> float:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(self._now + seconds, callback)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Let time pass and call what comes due."""
        self._now += seconds
        due = [timer for timer in self._timers if timer.at <= self._now and not timer.cancelled]
        self._timers = [timer for timer in self._timers if timer not in due]
        for timer in due:
            timer.callback()
