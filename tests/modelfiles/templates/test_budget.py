"""Budget and measure: what is counted, and that counting itself is bounded."""

from collections.abc import Iterator

import pytest

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import ITEM_COST, Budget, measure


def test_charging_ends_with_an_error() -> None:
    budget = Budget(10)
    budget.charge(10)
    with pytest.raises(TemplateError, match="far more work"):
        budget.charge(1)


def test_items_of_known_number_are_paid_at_once() -> None:
    budget = Budget(1000)
    items = [1, 2, 3]
    assert budget.metered(items) is items
    assert budget.left == 1000 - 4 * ITEM_COST


def test_items_of_unknown_number_are_paid_as_they_come() -> None:
    endless = Budget(5 * ITEM_COST).metered(iter(int, 1))
    assert isinstance(endless, Iterator)
    assert [next(endless) for _ in range(5)] == [0] * 5
    with pytest.raises(TemplateError):
        next(endless)


def test_what_is_not_iterable_is_left_to_fail_where_it_is_used() -> None:
    assert Budget(0).metered(7) == 7


def test_measure_counts_shared_parts_each_time() -> None:
    text = "x" * 100
    assert measure([text, text], 10_000) >= 200


def test_measure_stops_at_its_limit_in_a_value_that_doubles() -> None:
    value: list[object] = ["x"]
    for _ in range(60):
        value = [value, value]
    assert measure(value, 1_000) > 1_000


def test_budget_grows_with_the_input_and_has_a_ceiling() -> None:
    small, large, huge = (Budget.for_input({"a": "x" * n}) for n in (1, 10_000, 10_000_000))
    assert small.left < large.left < huge.left
    assert Budget.for_input({"a": "x" * 20_000_000}).left == huge.left
