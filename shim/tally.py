"""Counts what became of the tool calls that models wrote, since the server began.

Text that looks like a call and is none is never dropped in silence: it stays content, and is counted here by
the check that it failed. Also remembers which models think although they were told not to.
"""

from collections.abc import Iterable

from modelfiles.replies.checks import CHECKS, Check, failed_check


class ReplyTally:
    """One server's counts; all replies add to the same one."""

    def __init__(self) -> None:
        self.calls = 0
        self.failed: dict[Check, int] = dict.fromkeys(CHECKS, 0)
        self._thinking: set[str] = set()

    def add(self, calls: int, failures: Iterable[str]) -> None:
        """What one reply had."""
        self.calls += calls
        for failure in failures:
            self.failed[failed_check(failure)] += 1

    def first_to_think(self, model: str) -> bool:
        """Whether this model had not been known to think although it was told not to."""
        known = model in self._thinking
        self._thinking.add(model)
        return not known
