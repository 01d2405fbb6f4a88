"""Rates, slowness, and how many connections are worth having; time is what the tests say it is."""

from mirrors.stall import Meter, Ramp, is_slow


def test_a_rate_is_of_the_last_seconds() -> None:
    meter = Meter(5)
    for second in range(20):
        meter.add(100 if second < 10 else 300, float(second))
    assert 290 <= meter.rate(19.5) <= 310
    assert meter.rate(40) == 0


def test_slow_is_who_is_far_below_the_others() -> None:
    assert is_slow(10, [100, 110, 90, 100], 0)
    assert not is_slow(20, [100, 110, 90, 100], 0)
    assert not is_slow(10, [10, 9, 11, 10], 1000)
    assert is_slow(10, [], 100)
    assert not is_slow(10, [100, 100], 0)


def test_connections_double_while_that_pays() -> None:
    ramp = Ramp(4, 16)
    assert [ramp.told(rate) for rate in (4.0, 8.0, 16.0, 16.0)] == [8, 16, 16, 16]


def test_a_full_line_gets_no_more() -> None:
    ramp = Ramp(4, 16)
    assert [ramp.told(10.0) for _ in range(5)] == [8, 8, 8, 8, 8]


def test_it_goes_on_trying_and_comes_back() -> None:
    ramp = Ramp(4, 16)
    counts = {ramp.told(10.0) for _ in range(100)}
    assert counts <= {7, 8, 9}
    assert len(counts) > 1


def test_one_connection_can_be_the_limit() -> None:
    ramp = Ramp(4, 1)
    assert {ramp.told(float(rate)) for rate in range(30)} == {1}
