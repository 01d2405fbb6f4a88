"""Sets of byte ranges: which bytes of a file are there, which are not. Values only.

A span is half open, (start, end), as in slices.
"""

import bisect
from collections.abc import Iterable, Iterator

MIB = 1 << 20
SMALL_BYTES = 8 * MIB

Span = tuple[int, int]


def segment_bytes(size: int) -> int:
    """The unit of retry and repair: a 512th of the file, from 8 to 64 MiB, in whole MiB."""
    return min(max(-(-size // 512 // MIB) * MIB, 8 * MIB), 64 * MIB)


class Spans:
    """Disjoint spans in order; those that touch are one."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in spans:
            self.add(start, end)

    def __iter__(self) -> Iterator[Span]:
        return iter(list(zip(self._starts, self._ends, strict=True)))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spans) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Spans({list(self)})"

    @property
    def total(self) -> int:
        """How many bytes they hold."""
        return sum(self._ends) - sum(self._starts)

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        first = bisect.bisect_left(self._ends, start)
        last = bisect.bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def remove(self, start: int, end: int) -> None:
        if start >= end:
            return
        first = bisect.bisect_right(self._ends, start)
        last = bisect.bisect_left(self._starts, end)
        if first >= last:
            return
        kept = [(self._starts[first], start), (end, self._ends[last - 1])]
        kept = [(left, right) for left, right in kept if left < right]
        self._starts[first:last] = [left for left, _ in kept]
        self._ends[first:last] = [right for _, right in kept]

    def contains(self, start: int, end: int) -> bool:
        """Whether all these bytes are in one of the spans."""
        at = bisect.bisect_right(self._starts, start) - 1
        return start >= end or (at >= 0 and end <= self._ends[at])

    def first(self) -> Span:
        """The lowest one. Raises IndexError if there is none."""
        return self._starts[0], self._ends[0]

    def reach(self) -> int:
        """How many bytes from the file's start are in without a gap."""
        return self._ends[0] if self._starts and self._starts[0] == 0 else 0

    def gaps(self, size: int) -> "Spans":
        """What lacks to a file of that size."""
        missing = Spans([(0, size)])
        for start, end in self:
            missing.remove(start, end)
        return missing

    def within(self, start: int, end: int) -> "Spans":
        """What they hold of these bytes."""
        return Spans((max(left, start), min(right, end)) for left, right in self)
