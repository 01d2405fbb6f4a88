"""Who must leave, and when."""

from __future__ import annotations

import math

import pytest

from runtime.errors import InsufficientMemory
from runtime.eviction import Evict, LoadNow, Occupant, WaitForDeparture, Wanted, choose_victim, next_step
from runtime.memory import MIB, estimate
from runtime.options import LoadOptions
from tests.runtime.shapes import dense

WANTED = Wanted(dense(), LoadOptions(num_ctx=4096))
NEED = estimate(WANTED.shape, WANTED.options).total
FOR_EVER = Occupant("for ever", math.inf, 0, 1.0)
BUSY = Occupant("busy", 10.0, 2, 5.0)
SHORT = Occupant("short", 60.0, 0, 3.0)
LONG = Occupant("long", 300.0, 0, 2.0)


def test_with_room_for_all_it_loads() -> None:
    step = next_step(WANTED, [LONG, BUSY], NEED, max_loaded=3)
    assert isinstance(step, LoadNow)
    assert step.fit.options == WANTED.options


def test_over_the_limit_somebody_leaves() -> None:
    assert next_step(WANTED, [LONG, SHORT, BUSY], 100 * NEED, max_loaded=3) == Evict("short")


def test_no_limit() -> None:
    assert isinstance(next_step(WANTED, [LONG] * 20, NEED, max_loaded=0), LoadNow)


def test_without_memory_somebody_leaves() -> None:
    assert next_step(WANTED, [FOR_EVER, LONG], NEED - 1, max_loaded=3) == Evict("long")


def test_somebody_leaves_before_a_context_is_clamped() -> None:
    wanted = Wanted(dense(), LoadOptions(num_ctx=8192))
    assert next_step(wanted, [LONG], NEED, max_loaded=0) == Evict("long")
    step = next_step(wanted, [], NEED, max_loaded=0)
    assert isinstance(step, LoadNow)
    assert step.fit.options.num_ctx < 8192


def test_a_departure_under_way_is_waited_for() -> None:
    leaving = Occupant("leaving", 0.0, 1, 0.0, stopping=True)
    assert next_step(WANTED, [LONG, leaving], NEED - 1, max_loaded=0) == WaitForDeparture()
    assert next_step(WANTED, [LONG, leaving], NEED, max_loaded=2) == WaitForDeparture()


def test_nobody_is_waited_for_without_need() -> None:
    leaving = Occupant("leaving", 0.0, 1, 0.0, stopping=True)
    assert isinstance(next_step(WANTED, [leaving], NEED, max_loaded=2), LoadNow)


def test_alone_and_still_too_large() -> None:
    with pytest.raises(InsufficientMemory):
        next_step(WANTED, [], 90 * MIB, max_loaded=0)


def test_idle_before_busy_then_the_shortest_session_then_the_longest_unused() -> None:
    older = Occupant("older", 60.0, 0, 1.0)
    order = []
    left = [FOR_EVER, BUSY, SHORT, LONG, older]
    while left:
        victim = choose_victim(left)
        order.append(victim.key)
        left.remove(victim)
    assert order == ["older", "short", "long", "for ever", "busy"]


def test_automatic_slots_need_not_fit_at_their_most() -> None:
    wanted = Wanted(dense(), LoadOptions(num_ctx=4096, num_parallel=4), auto_slots=True)
    step = next_step(wanted, [LONG], NEED, max_loaded=0)
    assert isinstance(step, LoadNow)
    assert step.fit.options.num_parallel == 1
