"""Keep-alive in all of its forms, with the time as an argument."""

from __future__ import annotations

import math

import pytest

from runtime.keepalive import Session


def test_the_time_runs_from_the_end_of_the_last_request() -> None:
    session = Session(300, now=1000)
    session.begin(None, 1000)
    session.begin(None, 1010)
    session.end(1100)
    assert session.remaining_seconds(1100) is None
    session.end(1200)
    assert session.expires_at == 1500
    assert session.remaining_seconds(1300) == 200
    assert not session.due(1499)
    assert session.due(1500)


def test_a_new_request_stops_the_clock() -> None:
    session = Session(10, now=0)
    session.begin(None, 0)
    session.end(1)
    session.begin(None, 5)
    assert not session.due(100)
    session.end(100)
    assert session.expires_at == 110


def test_a_keep_alive_stays_for_later_requests_without_one() -> None:
    session = Session(300, now=0)
    session.begin(20 * 60, 0)
    session.end(10)
    session.begin(None, 20)
    session.end(30)
    assert session.expires_at == 30 + 20 * 60


@pytest.mark.parametrize("keep_alive", [-1, -1.0, -300])
def test_negative_means_for_ever(keep_alive: float) -> None:
    session = Session(300, now=0)
    session.begin(keep_alive, 0)
    assert math.isinf(session.expires_at)
    session.end(1)
    assert math.isinf(session.expires_at)
    assert session.remaining_seconds(1) is None
    assert not session.due(1e12)


def test_zero_means_right_after_this_request() -> None:
    session = Session(300, now=0)
    session.begin(0.0, 0)
    assert not session.due(0)
    session.end(7)
    assert session.due(7)


def test_a_busy_model_shows_the_last_computed_time() -> None:
    session = Session(300, now=0)
    session.begin(None, 0)
    session.end(10)
    session.begin(None, 100)
    assert session.expires_at == 310
    session.begin(60, 120)
    assert session.expires_at == 180


def test_unload_waits_for_requests_in_flight() -> None:
    session = Session(-1, now=0)
    session.begin(None, 0)
    session.expire(5)
    assert not session.due(5)
    session.end(9)
    assert session.due(9)


def test_unload_of_an_idle_model_is_due_at_once() -> None:
    session = Session(-1, now=0)
    session.expire(5)
    assert session.due(5)


def test_a_request_with_a_keep_alive_takes_an_unload_back() -> None:
    session = Session(-1, now=0)
    session.begin(None, 0)
    session.expire(1)
    session.begin(60, 2)
    session.end(3)
    session.end(4)
    assert session.expires_at == 64
