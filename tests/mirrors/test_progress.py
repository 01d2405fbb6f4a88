"""Progress is a value that cannot say nonsense."""

import pytest

from mirrors.progress import Progress


def test_fraction_of_a_known_total() -> None:
    assert Progress("fetching", 25, 100).fraction == 0.25
    assert Progress("done", 100, 100).fraction == 1.0


def test_no_fraction_without_a_total() -> None:
    assert Progress("waiting").fraction is None
    assert Progress("fetching", 25).fraction is None


@pytest.mark.parametrize(("done", "total"), [(-1, 0), (0, -1), (2, 1)])
def test_nonsense_is_refused(done: int, total: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        Progress("fetching", done, total)
