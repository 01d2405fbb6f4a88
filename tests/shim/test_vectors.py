"""Numbers of embeddings: the shortest digits of float32s, unit length, fewer dimensions."""

import json
import math
import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import ApiError
from shim.gojson import format_float32
from shim.vectors import cosine, encoded, from_bytes, normalised, shortened

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, max_size=40))
def test_digits_are_those_of_the_slow_way(numbers: list[float]) -> None:
    vector = array("f", numbers)
    written = bytes(encoded(vector)).decode()
    assert written == "[" + ",".join(map(format_float32, vector)) + "]"
    assert array("f", json.loads(written)) == vector


def test_digits_over_all_sizes() -> None:
    dice = random.Random(7)
    numbers = [dice.gauss(0, 1) * 10 ** dice.uniform(-30, 30) for _ in range(2000)]
    numbers += [sign * 2.0**power for power in range(-40, 40) for sign in (1, -1)]
    vector = array("f", numbers)
    texts = bytes(encoded(vector)).decode()[1:-1].split(",")
    assert texts == list(map(format_float32, vector))


@given(st.lists(FLOATS.filter(lambda x: abs(x) > 1e-3), min_size=1, max_size=50))
def test_unit_length(numbers: list[float]) -> None:
    assert math.hypot(*normalised(array("f", numbers))) == pytest.approx(1, abs=1e-5)


def test_a_vector_of_zeros_stays() -> None:
    assert list(normalised(array("f", [0, 0]))) == [0, 0]


def test_dimensions() -> None:
    vector = normalised(array("f", [3, 4, 12]))
    assert list(shortened(vector, 2)) == pytest.approx([0.6, 0.8])
    for all_of_them in (0, -1, 3, 99):
        assert shortened(vector, all_of_them) == vector


def test_likeness() -> None:
    one, other = normalised(array("f", [1, 1])), normalised(array("f", [1, -1]))
    assert cosine(one, one) == pytest.approx(1)
    assert cosine(one, other) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ApiError, match="NaN or Inf"):
        from_bytes(array("f", [1, bad]).tobytes())
