"""JSON as the files of the store hold it, byte for byte as Ollama writes it, so that digests agree.

Compact, one line with a newline behind it; `<`, `>`, `&`, U+2028 and U+2029 escaped; numbers as Go prints a
float64, to which its decoder turns every number of a parameter. Knows nothing of what the values mean.
"""

import json
from collections.abc import Mapping

_ESCAPES = {code: f"\\u{code:04x}" for code in (ord("<"), ord(">"), ord("&"), 0x2028, 0x2029)}
# Above it, a float64 no longer holds every whole number
_EXACT_INTEGERS = 1 << 53
_PLAIN_FROM, _EXPONENT_FROM = 1e-6, 1e21


def json_line(value: object) -> bytes:
    """One line of JSON. Mappings keep their order. Raises ValueError for what JSON cannot hold."""
    return (_encoded(value) + "\n").encode("utf-8", "replace")


def sorted_mapping(value: Mapping[str, object]) -> dict[str, object]:
    """The same with its keys, and those of mappings inside, in the order of their bytes."""
    return {key: _sorted(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-8", "replace"))}


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return sorted_mapping(value)
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def _encoded(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_text(str(key))}:{_encoded(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_encoded, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return number(value)
    raise ValueError(f"{type(value).__name__} cannot be stored as JSON")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


def number(value: float) -> str:
    """Shortest digits that give the float64 again: plain from 1e-6 up to 1e21, else with an exponent."""
    if isinstance(value, int) and abs(value) <= _EXACT_INTEGERS:
        return str(value)
    exact = float(value)
    digits = repr(exact)
    if exact != exact or exact in (float("inf"), float("-inf")):
        raise ValueError(f"{digits} is no number that JSON can hold")
    if exact == 0 or _PLAIN_FROM <= abs(exact) < _EXPONENT_FROM:
        return _plain(digits)
    mantissa, _, exponent = digits.partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def _plain(digits: str) -> str:
    """A Python float's text without its exponent and without a `.0`."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    mantissa, _, exponent = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    shift = int(exponent or 0)
    if shift > 0:
        whole, fraction = whole + fraction[:shift].ljust(shift, "0"), fraction[shift:]
    elif shift < 0:
        whole, fraction = "0", "0" * (-shift - 1) + whole + fraction
    return sign + whole + (f".{fraction}" if fraction else "")
