"""Go's text forms of numbers and strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.gotext import number, quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (40, "40"),
        (-1, "-1"),
        (0.7, "0.7"),
        (-0.05, "-0.05"),
        (131072, "131072"),
        (262144, "262144"),
        (1000000, "1e+06"),
        (1048576, "1.048576e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (123456.5, "123456.5"),
        (1e21, "1e+21"),
        (1e100, "1e+100"),
        (100, "100"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_the_same_after_reading(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|im_end|>", '"<|im_end|>"'),
        ('a"\\\n\t\r\a\b\f\v', '"a\\"\\\\\\n\\t\\r\\a\\b\\f\\v"'),
        ("\x01\x7f", '"\\x01\\x7f"'),
        ("ü火", '"ü火"'),
        ("\u200b\u00a0\U000e0001", '"\\u200b\\u00a0\\U000e0001"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_strings(text: str, expected: str) -> None:
    assert quoted(text) == expected
