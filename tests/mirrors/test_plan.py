"""Who fetches what: every byte is handed out exactly once, whatever is split, stolen or given back."""

import random

from mirrors.parts import MIB, Spans
from mirrors.plan import Candidate, Part, Plan, where_to_steal

SIZE = 100 * MIB


def test_every_byte_is_fetched_once() -> None:
    luck = random.Random(1)
    plan, got = Plan(Spans([(0, SIZE)]), 8 * MIB), Spans()
    while not plan.finished:
        part = plan.take() if luck.random() < 0.7 else plan.take_after(luck.randrange(SIZE))
        for active in list(plan.active):
            step = luck.randrange(0, min(active.rest, 3 * MIB) + 1)
            before = got.total
            got.add(active.position, active.position + step)
            assert got.total == before + step
            active.position += step
            if active.rest > 2 and luck.random() < 0.2:
                plan.split(active, active.position + luck.randrange(active.rest))
            if active.rest == 0 or luck.random() < 0.2:
                plan.give_back(active)
        assert part is None or part.end - part.start <= SIZE
        assert plan.missing == SIZE - got.total
    assert got == Spans([(0, SIZE)])


def test_the_lowest_come_first_and_end_with_their_segment() -> None:
    plan = Plan(Spans([(MIB, 20 * MIB)]), 8 * MIB)
    first, second = plan.take(), plan.take()
    assert first is not None
    assert second is not None
    assert (first.start, first.end, second.start) == (MIB, 8 * MIB, 8 * MIB)


def part(rest: int) -> Part:
    return Part(0, rest, 0)


def test_work_is_shared_in_proportion() -> None:
    slow = Candidate(part(8 * MIB), 1e6, 5)
    found = where_to_steal([slow, Candidate(part(MIB), 1e6, 5)], 3e6)
    assert found is not None
    assert found[0] is slow.part
    assert found[1] == 2 * MIB


def test_a_small_rest_that_takes_long_is_taken_over() -> None:
    crawling = Candidate(part(100_000), 1_000, 5)
    assert where_to_steal([crawling], 1e6) == (crawling.part, 0)
    assert where_to_steal([Candidate(part(100_000), 1_000, 1.5)], 1e6) is None
    assert where_to_steal([crawling], 1_000) is None


def test_nobody_is_robbed_who_is_about_to_finish() -> None:
    assert where_to_steal([Candidate(part(MIB), 1e7, 5)], 1e7) is None
    assert where_to_steal([], 1e7) is None
    assert where_to_steal([Candidate(part(0), 0, 5)], 1e7) is None
