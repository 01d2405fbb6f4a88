"""How long a host is left alone, by luck, by its own word, and by what it gave."""

from email.utils import formatdate

from mirrors.backoff import PROGRESS_BYTES, Backoff, told_seconds
from mirrors.limits import Bucket


def test_waits_grow_to_a_limit_and_are_forgotten_after_progress() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.failed() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
    backoff.received(PROGRESS_BYTES - 1)
    assert backoff.failed() == 30
    backoff.received(PROGRESS_BYTES)
    assert backoff.failed() == 1
    assert backoff.failed(told=100.0) == 100


def test_what_servers_say() -> None:
    assert told_seconds({"Retry-After": "7"}, 0) == 7
    assert told_seconds({"Retry-After": formatdate(1000, usegmt=True)}, 940) == 60
    assert told_seconds({"Retry-After": formatdate(1000, usegmt=True)}, 2000) == 0
    assert told_seconds({"RateLimit": '"resolvers";r=0;t=55'}, 0) == 55
    assert told_seconds({"Retry-After": "999999999999"}, 0) == 600
    for nonsense in ({}, {"Retry-After": "soon"}, {"RateLimit": "r=0"}, {"Retry-After": "-5"}):
        assert told_seconds(nonsense, 0) is None


def test_a_bucket_keeps_the_mean() -> None:
    bucket, now = Bucket(1000), 0.0
    for _ in range(100):
        now += bucket.take(100, now)
    assert 9.0 <= now <= 10.0
    assert bucket.brakes(now)
    assert not bucket.brakes(now + 10)
    assert Bucket(0).take(10**9, 0.0) == 0
