"""Guards: the cost of an operation is known before it runs."""

from datetime import datetime

import pytest

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import Budget
from modelfiles.templates.guards import check_method, format_time, operate, safe_key


@pytest.mark.parametrize(
    ("sign", "left", "right", "expected"),
    [
        ("+", "a", "b", "ab"),
        ("+", [1], [2], [1, 2]),
        ("+", 1, 2.5, 3.5),
        ("*", 3, "ab", "ababab"),
        ("*", [0], 2, [0, 0]),
        ("*", -5, "ab", ""),
        ("*", 6, 7, 42),
        ("**", 2, 0.5, 2**0.5),
        ("**", 2, -1, 0.5),
        ("%", 7, 4, 3),
        ("%", "%s!", "a", "a!"),
    ],
)
def test_operators_do_what_python_does(sign: str, left: object, right: object, expected: object) -> None:
    assert operate(Budget(10_000), sign, left, right) == expected


def test_results_are_paid_for_before_they_exist() -> None:
    budget = Budget(1_000)
    with pytest.raises(TemplateError):
        operate(budget, "*", "x" * 100, 11)


def test_methods_cost_what_they_read() -> None:
    budget = Budget(10_000)
    check_method(budget, ("x" * 500).upper, (), {})
    assert budget.left == 9_500
    check_method(budget, ("x" * 500).startswith, ("x" * 100,), {})
    assert budget.left == 9_400
    check_method(budget, ([0] * 6_400).pop, (0,), {})
    assert budget.left == 9_300


@pytest.mark.parametrize("method", ["".encode, (5).bit_length, {}.clear, b"".hex, [].sort, dict.fromkeys])
def test_other_methods_do_not_exist(method: object) -> None:
    with pytest.raises(TemplateError, match="may not call"):
        check_method(Budget(10_000), method, (), {})


def test_join_of_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(TemplateError, match="lists only"):
        check_method(Budget(10_000), ",".join, (iter("ab"),), {})


@pytest.mark.parametrize("key", ["a", 1, 2.5, True, None])
def test_plain_keys(key: object) -> None:
    assert safe_key(key) == key


def test_nested_keys_are_refused() -> None:
    with pytest.raises(TemplateError, match="tuple is no key"):
        safe_key(("a", "b"))


def test_dates() -> None:
    moment = datetime(2026, 3, 5, 14, 7)
    assert format_time(Budget(9_999), moment, "%d %B %Y, %H:%M") == "05 March 2026, 14:07"


@pytest.mark.parametrize("text", ["%999999999d", "%_1000Y", "%d" * 600])
def test_dates_of_great_width_are_refused(text: str) -> None:
    with pytest.raises(TemplateError, match="no sensible format"):
        format_time(Budget(9_999), datetime(2026, 3, 5), text)


def test_dates_cost_their_length() -> None:
    budget = Budget(100)
    format_time(budget, datetime(2026, 3, 5), "%Y")
    assert budget.left == 96
