"""The values of constants in a template: strings, characters and numbers as Go writes them.

Raises ValueError with Go's words for what is none. Knows nothing of tokens.
"""

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from modelfiles.templates.go.quoting import decoded, quoted

_INVALID = "invalid syntax"
_SIMPLE = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"
)
_HIGHEST_INT, _LOWEST_INT, _HIGHEST_UINT = 2**63 - 1, -(2**63), 2**64 - 1
_BASES = {"0x": 16, "0o": 8, "0b": 2}
_DIGITS = r"[0-9](?:_?[0-9])*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_DIGITS = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_HEX = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_REAL = rf"{_HEX.pattern}|{_DECIMAL.pattern}"
_PAIR = re.compile(rf"({_REAL})((?=[+-])(?:{_REAL}))i")


@dataclass(frozen=True, slots=True)
class TooLarge:
    """An integer that no int can hold, which is an error only where it is used."""


Number: TypeAlias = int | float | complex | TooLarge


def string_value(text: str) -> str:
    """A string in double quotes or backquotes."""
    if text[0] == "`":
        return text[1:-1].replace("\r", "")
    return _unescaped(text[1:-1], '"')


def character_value(text: str) -> int:
    """The code point of a character in single quotes."""
    inner = text[1:-1]
    escape = _ESCAPE.match(inner)
    end = escape.end() if escape else 1
    if not inner or (inner[0] == "\\" and not escape):
        raise ValueError(_INVALID)
    first = _escaped(escape, "'") if escape else inner[0]
    if len(inner) > end:
        raise ValueError(f"malformed character constant: {text}")
    return first[0] if isinstance(first, bytes) else ord(first)


def complex_value(text: str) -> complex:
    """`1+2i`."""
    parts = _PAIR.fullmatch(text)
    if parts is None:
        raise ValueError("syntax error scanning complex number")
    return complex(_float(parts[1]), _float(parts[2]))


def number_value(text: str) -> Number:
    """Any other number. What looks like a float is one, even if it has no fraction."""
    if text.endswith("i"):
        try:
            return complex(0, _float(text[:-1]))
        except ValueError:
            pass
    whole = _integer(text)
    if whole is not None:
        return whole
    try:
        value = _float(text)
    except ValueError:
        raise ValueError(f"illegal number syntax: {quoted(text)}") from None
    if not any(char in text for char in ".eEpP"):
        raise ValueError(f"integer overflow: {quoted(text)}")
    return value


def _integer(text: str) -> int | TooLarge | None:
    digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
    base = _BASES.get(digits[:2].lower(), 8 if digits[:1] == "0" and len(digits) > 1 else 10)
    digits = digits[2:] if digits[:2].lower() in _BASES else digits
    try:
        # Like Go, Python takes single underscores between digits and behind a prefix; unlike Go, it strips.
        value = int(digits.removeprefix("_") if base != 10 else digits, base)
    except ValueError:
        return None
    value = -value if text[0] == "-" else value
    if _LOWEST_INT <= value <= _HIGHEST_INT:
        return value
    return TooLarge() if value <= _HIGHEST_UINT and text[0] not in "+-" else None


def _float(text: str) -> float:
    try:
        if _HEX.fullmatch(text):
            value = float.fromhex(text.replace("_", ""))
        elif _DECIMAL.fullmatch(text):
            value = float(text)
        else:
            raise ValueError(_INVALID)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise ValueError("value out of range")
    return value


def _unescaped(inner: str, quote: str) -> str:
    if "\\" not in inner:
        return inner
    made = bytearray()
    at = 0
    while at < len(inner):
        next_escape = inner.find("\\", at)
        if next_escape < 0:
            next_escape = len(inner)
        made += inner[at:next_escape].encode("utf-8", "surrogateescape")
        at = next_escape
        if at == len(inner):
            break
        escape = _ESCAPE.match(inner, at)
        if escape is None:
            raise ValueError(_INVALID)
        value = _escaped(escape, quote)
        made += value.encode() if isinstance(value, str) else value
        at = escape.end()
    return decoded(bytes(made))


def _escaped(escape: re.Match[str], quote: str) -> str | bytes:
    """A character, or for escapes in octal and `\\x` a byte."""
    simple, octal, byte, *longer = escape.groups()
    if simple:
        if simple in "'\"" and simple != quote:
            raise ValueError(_INVALID)
        return _SIMPLE.get(simple, simple)
    if octal or byte:
        code = int(octal, 8) if octal else int(byte, 16)
        if code > 0xFF:
            raise ValueError(_INVALID)
        return bytes([code])
    code = int(longer[0] or longer[1], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(_INVALID)
    return chr(code)
