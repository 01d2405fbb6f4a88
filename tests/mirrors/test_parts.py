"""Sets of byte ranges, against sets of numbers."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mirrors.parts import MIB, Spans, segment_bytes

EDITS = st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 30)), max_size=20)


@given(EDITS)
def test_they_are_sets_of_bytes(edits: list[tuple[bool, int, int]]) -> None:
    spans, model = Spans(), set[int]()
    for is_added, start, end in edits:
        (spans.add if is_added else spans.remove)(start, end)
        model = model | set(range(start, end)) if is_added else model - set(range(start, end))
        found = list(spans)
        assert {byte for left, right in found for byte in range(left, right)} == model
        assert all(one[1] < other[0] for one, other in itertools.pairwise(found))
        assert spans.total == len(model)
        assert spans.contains(start, end) == (set(range(start, end)) <= model)
        assert spans.reach() == next(byte for byte in range(40) if byte not in model)
        assert {b for left, right in spans.gaps(30) for b in range(left, right)} == set(range(30)) - model


def test_segments_grow_with_the_file() -> None:
    assert segment_bytes(1) == 8 * MIB
    assert segment_bytes(10_000 * MIB) == 20 * MIB
    assert segment_bytes(1 << 40) == 64 * MIB
