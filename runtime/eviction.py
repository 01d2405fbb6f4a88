"""Load, wait, or unload somebody else first: what to do for the model that is next. Pure.

Over the limit of loaded models, or when the next one does not fit beside the others, the one with the
shortest keep-alive goes; idle ones go before busy ones, and among equals the one unused for longest. Busy
ones finish their requests first. One goes at a time, and then everything is looked at anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runtime.fit import Fit, fit, fits_as_asked
from runtime.options import LoadOptions
from runtime.shape import ModelShape


@dataclass(frozen=True, slots=True)
class Occupant:
    """A loaded model; ``stopping`` once it was told to leave."""

    key: str
    session_seconds: float
    in_flight: int
    last_used: float
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """The model to be loaded; ``auto_slots`` lets memory decide the number of slots."""

    shape: ModelShape
    options: LoadOptions
    auto_slots: bool = False


@dataclass(frozen=True, slots=True)
class LoadNow:
    """Load with these options."""

    fit: Fit


@dataclass(frozen=True, slots=True)
class Evict:
    """Tell this one to leave, and look again when it has."""

    key: str


@dataclass(frozen=True, slots=True)
class WaitForDeparture:
    """Somebody is leaving already: look again then."""


Step: TypeAlias = LoadNow | Evict | WaitForDeparture


def next_step(wanted: Wanted, occupants: Sequence[Occupant], free: int, max_loaded: int) -> Step:
    """What to do now. ``free`` are the bytes that nobody uses; ``max_loaded`` 0 is no limit.

    InsufficientMemory when nobody is left to leave and it does not fit.
    """
    room = not max_loaded or len(occupants) < max_loaded
    if room and fits_as_asked(wanted.shape, wanted.options, free, auto_slots=wanted.auto_slots):
        return LoadNow(fit(wanted.shape, wanted.options, free, auto_slots=wanted.auto_slots))
    if any(occupant.stopping for occupant in occupants):
        return WaitForDeparture()
    if occupants:
        return Evict(choose_victim(occupants).key)
    return LoadNow(fit(wanted.shape, wanted.options, free, auto_slots=wanted.auto_slots))


def choose_victim(occupants: Sequence[Occupant]) -> Occupant:
    """Who goes first."""
    return min(occupants, key=lambda one: (one.in_flight > 0, one.session_seconds, one.last_used))
