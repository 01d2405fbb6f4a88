"""Where the supervisor takes the time from, so that tests can hold it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None:
        """Take it back; afterwards is no error."""
        ...


class Clock(Protocol):
    """Time, and calls at a later time."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once in the event loop."""
        ...


class SystemClock:
    """The real one. Timers run on the event loop's clock, which nobody can set."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once in the running event loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)
