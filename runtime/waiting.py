"""Requests that wait for a model to be loaded, first in first out, with a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runtime.errors import QueueFull
from runtime.lease import Lease
from runtime.loaded import ModelSpec, Runner
from runtime.options import LoadOptions
from runtime.reload import differing_options


@dataclass(eq=False, slots=True)
class Waiter:
    """One request. ``answer`` gets its lease or the reason why there is none."""

    spec: ModelSpec
    options: LoadOptions
    explicit: frozenset[str]
    keep_alive: float | None
    answer: asyncio.Future[Lease]
    began_ns: int = field(default_factory=time.monotonic_ns)

    def can_use(self, runner: Runner) -> bool:
        """Whether ``runner`` is what it waits for, and ready."""
        same = runner.spec.key == self.spec.key
        return same and runner.usable and runner.serves(self.options, self.explicit)

    def content_with(self, other: Waiter) -> bool:
        """Whether what is loaded for ``other`` will do for this one."""
        if other.spec.key != self.spec.key:
            return False
        loaded = other.options
        return not differing_options(self.spec.shape, loaded, loaded, self.options, self.explicit)


class WaitingLine:
    """The line; requests that were given up are skipped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiters: list[Waiter] = []

    def __len__(self) -> int:
        return len(self._waiters)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(tuple(self._waiters))

    def join(self, waiter: Waiter) -> None:
        """Stand at the end; QueueFull when too many wait."""
        if len(self._waiters) >= self._limit:
            raise QueueFull("server busy, please try again.  maximum pending requests exceeded")
        self._waiters.append(waiter)

    def first(self) -> Waiter | None:
        """Whose turn it is."""
        return self._waiters[0] if self._waiters else None

    def leave(self, waiter: Waiter) -> None:
        """Served, refused, or given up."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def fail(self, error: Exception, concerned: Callable[[Waiter], bool]) -> None:
        """Refuse all that are concerned, for one reason."""
        for waiter in self:
            if concerned(waiter):
                self.leave(waiter)
                if not waiter.answer.done():
                    waiter.answer.set_exception(error)
