"""JSON as Go's encoder writes it, because clients compare bytes and split lines where Go would not.

Compact; `<`, `>`, `&`, U+2028 and U+2029 escaped as in Go, and U+0085 too, since the line splitters of
common clients cut there. Floats in plain notation from 1e-6 up to 1e21, else with an unpadded exponent,
integral ones without `.0`; bytes as padded base64. Mappings keep their order: a caller that stands for a Go
map sorts it with `sorted_keys`. The encoding itself is msgspec's; only floats need their own spelling.

Knows nothing of requests or of what the values mean.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

import msgspec

_ENCODER = msgspec.json.Encoder()

# 1e-6 and 1e21 as the nearest float32, which is what Go compares a float32 with.
_LOWEST_FLOAT32, _HIGHEST_FLOAT32 = struct.unpack("<2f", struct.pack("<2f", 1e-6, 1e21))

# None of these bytes occurs in JSON outside of strings, so the finished text can be searched for them.
_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)


class Float32(float):
    """A float that is written with the digits that single out a float32."""

    __slots__ = ()


def encode(value: object) -> bytes:
    """`value` as one line of JSON, no newline. ValueError for NaN and infinities, which Go refuses too."""
    prepared = _spelled(value) if _has_float(value) else value
    try:
        text = _ENCODER.encode(prepared)
    except UnicodeEncodeError:
        text = _ENCODER.encode(_without_surrogates(prepared))
    return _escaped(text)


def encode_string(text: str) -> bytes:
    """One JSON string, with its quotes."""
    return encode(text)


def sorted_keys(value: object) -> object:
    """`value` with every mapping in it sorted by the bytes of its keys, as Go writes maps."""
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]).encode("utf-8", "surrogatepass"))
        return {key: sorted_keys(inner) for key, inner in items}
    if isinstance(value, list | tuple):
        return [sorted_keys(inner) for inner in value]
    return value


def format_float64(number: float) -> str:
    """Shortest digits that give `number` again, in Go's notation for JSON."""
    if not math.isfinite(number):
        raise ValueError(f"unsupported value: {number}")
    return _notation(repr(float(number)), _in_plain_range(number, 1e-6, 1e21))


def format_float32(number: float) -> str:
    """Shortest digits that give the same float32 again."""
    single = _as_float32(number)
    if not math.isfinite(single):
        raise ValueError(f"unsupported value: {number}")
    return _notation(_shortest_float32(single), _in_plain_range(single, _LOWEST_FLOAT32, _HIGHEST_FLOAT32))


def utc_time(nanoseconds: int) -> str:
    """Nanoseconds since 1970 in RFC 3339 with `Z`; trailing zeros of the fraction are dropped."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return _moment(datetime.fromtimestamp(seconds, UTC), fraction)


def local_time(nanoseconds: int, zone: tzinfo | None = None) -> str:
    """The same in the server's zone (`zone` for tests): `+02:00`, or `Z` where that is UTC."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return _moment(datetime.fromtimestamp(seconds, UTC).astimezone(zone), fraction)


def _moment(when: datetime, fraction: int) -> str:
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    offset = when.strftime("%z")
    zone = "Z" if offset in ("+0000", "-0000", "") else f"{offset[:3]}:{offset[3:5]}"
    return f"{when:%Y-%m-%dT%H:%M:%S}{digits}{zone}"


def _escaped(text: bytes) -> bytes:
    for raw, escape in _ESCAPES:
        if raw in text:
            text = text.replace(raw, escape)
    return text


def _has_float(value: object) -> bool:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return False
    if isinstance(value, dict):
        return any(map(_has_float, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_float, value))
    return isinstance(value, float)


def _spelled(value: object) -> object:
    """A copy in which every float is replaced by its finished text."""
    if isinstance(value, float):
        text = format_float32(value) if isinstance(value, Float32) else format_float64(value)
        return msgspec.Raw(text.encode())
    if isinstance(value, dict):
        return {key: _spelled(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in value]
    return value


def _without_surrogates(value: object) -> object:
    """A copy in which halves of surrogate pairs, which no UTF-8 can hold, are U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(inner) for inner in value]
    return value


def _as_float32(number: float) -> float:
    try:
        single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.inf
    return single


def _shortest_float32(single: float) -> str:
    for precision in range(1, 10):
        for text in _candidates(single, precision):
            if _as_float32(float(text)) == single:
                return text
    return repr(single)


def _candidates(single: float, precision: int) -> list[str]:
    """The nearest decimal; at powers of two, where floats lie denser below than above, the next one too."""
    nearest = f"{single:.{precision - 1}e}"
    if math.frexp(single)[0] not in (0.5, -0.5):
        return [nearest]
    digits, exponent = nearest.split("e")
    step = math.copysign(10.0 ** (1 - precision), single)
    return [nearest, f"{float(digits) + step:.{precision - 1}f}e{exponent}"]


def _in_plain_range(number: float, lowest: float, highest: float) -> bool:
    return number == 0 or lowest <= abs(number) < highest


def _notation(text: str, plain: bool) -> str:
    """The digits of a Python float's text in Go's plain or exponent notation."""
    sign, digits, exponent = _digits(text)
    if plain:
        return sign + _plain(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent - 1:+d}"


def _digits(text: str) -> tuple[str, str, int]:
    """Sign, significant digits, and the exponent e of 0.digits x 10^e."""
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return sign, digits.rstrip("0") or "0", len(whole) - leading + int(exponent or 0)


def _plain(digits: str, exponent: int) -> str:
    if digits == "0":
        return "0"
    if exponent <= 0:
        return "0." + "0" * -exponent + digits
    if exponent >= len(digits):
        return digits + "0" * (exponent - len(digits))
    return f"{digits[:exponent]}.{digits[exponent:]}"
