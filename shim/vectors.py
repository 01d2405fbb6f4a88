"""Embeddings as numbers: unit length, fewer dimensions, and the shortest text of many float32s at once.

Vectors are arrays of float32 ("f"). Pure.
"""

from __future__ import annotations

import math
from array import array

import msgspec

from shim.errors import bad_request
from shim.gojson import format_float32

_SMALLEST_NORM = 1e-12
_SURE_DIGITS = 9  # as many give every float32 again


def from_bytes(data: bytes) -> array[float]:
    """What the engine sent. ApiError where it holds no numbers."""
    vector = array("f", data)
    if not all(map(math.isfinite, vector)):
        raise bad_request("embedding contains NaN or Inf values")
    return vector


def normalised(vector: array[float]) -> array[float]:
    """The same direction with length 1."""
    length = max(math.hypot(*vector), _SMALLEST_NORM)
    return array("f", [number / length for number in vector])


def shortened(vector: array[float], dimensions: int) -> array[float]:
    """The first `dimensions` numbers, again of length 1; all of them for 0 and for more than there are."""
    return normalised(vector[:dimensions]) if 0 < dimensions < len(vector) else vector


def cosine(one: array[float], other: array[float]) -> float:
    """How far two vectors of length 1 point the same way, -1 to 1."""
    return max(-1.0, min(math.fsum(a * b for a, b in zip(one, other, strict=True)), 1.0))


def encoded(vector: array[float]) -> msgspec.Raw:
    """A JSON list with the digits that Go writes for float32s: the fewest that give the same number again.

    Fast, because a batch of embeddings is hundreds of thousands of numbers: all are tried with 6 digits, what
    does not come back with 7, and so on. Powers of two, where the nearest decimal is not always the shortest,
    and numbers that "%g" writes with an exponent go the slow way.
    """
    texts = [f"{number:.6g}" for number in vector]
    pending = _not_the_same(vector, texts, range(len(vector)))
    for digits in range(7, _SURE_DIGITS + 1):
        for at in pending:
            texts[at] = f"{vector[at]:.{digits}g}"
        pending = _not_the_same(vector, texts, pending)
    for at, text in enumerate(texts):
        if "e" in text or math.frexp(vector[at])[0] in (0.5, -0.5, 0.0):
            texts[at] = format_float32(vector[at])
    return msgspec.Raw(f"[{','.join(texts)}]".encode())


def _not_the_same(vector: array[float], texts: list[str], places: range | list[int]) -> list[int]:
    again = array("f", [float(texts[at]) for at in places])
    return [at for at, number in zip(places, again, strict=True) if number != vector[at]]
