"""How long a loaded model stays after its last use. Pure: every method is told the time (seconds since 1970).

A keep-alive of a request replaces that of the model for good; later requests without one keep it. The time
runs from the end of the last request in flight; a new request stops it. Zero means: unload as soon as nobody
uses it. Negative means for ever.
"""

from __future__ import annotations

import math


def session_seconds(keep_alive: float) -> float:
    """A keep-alive in seconds as a length of time; infinite for negative ones."""
    return math.inf if keep_alive < 0 else keep_alive


class Session:
    """Use of one loaded model. ``expires_at`` is the last computed time, infinite for never."""

    __slots__ = ("expires_at", "in_flight", "last_used", "seconds")

    def __init__(self, keep_alive: float, now: float) -> None:
        self.seconds = session_seconds(keep_alive)
        self.expires_at = now + self.seconds
        self.in_flight = 0
        self.last_used = now

    def begin(self, keep_alive: float | None, now: float) -> None:
        """A request starts; None keeps the model's keep-alive."""
        self.in_flight += 1
        self.last_used = now
        if keep_alive is not None:
            self.seconds = session_seconds(keep_alive)
            self.expires_at = now + self.seconds

    def end(self, now: float) -> None:
        """A request ended."""
        self.in_flight -= 1
        self.last_used = now
        if self.in_flight == 0:
            self.expires_at = now + self.seconds

    def expire(self, now: float) -> None:
        """Unload as soon as nobody uses it. A later request with a keep-alive of its own takes this back."""
        self.seconds = 0.0
        self.expires_at = now

    def due(self, now: float) -> bool:
        """Whether the model should be unloaded."""
        return self.in_flight == 0 and self.expires_at <= now

    def remaining_seconds(self, now: float) -> float | None:
        """When to look again: None while a request is in flight, and for ever."""
        if self.in_flight or math.isinf(self.expires_at):
            return None
        return max(self.expires_at - now, 0.0)
