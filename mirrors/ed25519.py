"""Signatures by Ed25519 (RFC 8032), for the one place that needs them: asking a registry for a token.

Written in plain Python so that pulling a model needs no compiled library; a signature takes some
milliseconds, and one pull makes one. Takes no care to run in constant time: it signs on the user's own
machine, where whoever could measure it could read the key file too. Pure.
"""

import hashlib
from typing import TypeAlias

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P

# Extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, x·y = T/Z
_Point: TypeAlias = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def public_key(seed: bytes) -> bytes:
    """The 32 bytes that others may know, of the 32 secret ones."""
    scalar, _ = _expanded(seed)
    return _compressed(_times(scalar, _base()))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature, 64 bytes, of a message by the owner of these 32 secret bytes."""
    scalar, prefix = _expanded(seed)
    known = _compressed(_times(scalar, _base()))
    nonce = _number(prefix + message)
    commitment = _compressed(_times(nonce, _base()))
    challenge = _number(commitment + known + message)
    answer = (nonce + challenge * scalar) % _ORDER
    return commitment + answer.to_bytes(32, "little")


def _expanded(seed: bytes) -> tuple[int, bytes]:
    if len(seed) != 32:
        raise ValueError("an Ed25519 key has 32 secret bytes")
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha512(data).digest(), "little") % _ORDER


def _base() -> _Point:
    """The generator: y is 4/5, and x the even root of the curve's equation."""
    y = 4 * pow(5, _P - 2, _P) % _P
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    x = _P - x if x & 1 else x
    return x, y, 1, x * y % _P


def _sum(a: _Point, b: _Point) -> _Point:
    first = (a[1] - a[0]) * (b[1] - b[0]) % _P
    second = (a[1] + a[0]) * (b[1] + b[0]) % _P
    third, fourth = 2 * a[3] * b[3] * _D % _P, 2 * a[2] * b[2] % _P
    e, f, g, h = second - first, fourth - third, fourth + third, second + first
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(factor: int, point: _Point) -> _Point:
    found = _NEUTRAL
    while factor:
        if factor & 1:
            found = _sum(found, point)
        point = _sum(point, point)
        factor >>= 1
    return found


def _compressed(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")
