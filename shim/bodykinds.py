"""The kinds of values that a request body may declare, each knowing how Go would read it.

A kind's `read` returns the value or notes in the `Reading` what does not fit. Knows no struct and no request.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shim.durations import parse_duration
from shim.errors import go_quoted
from shim.gojson import encode
from shim.goscan import Sourced
from shim.reading import NeedsExactReading, Place, Reading, Refused, found, plain, source

FOREVER = -1.0
_LEVELS = ("high", "medium", "low", "max")
_NOT_AN_OBJECT = "Value looks like object, but can't find closing '}' symbol"
_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]*")


class Kind(Protocol):
    """How one value is read. `zero` stands for a null inside a list."""

    @property
    def zero(self) -> object: ...
    def read(self, value: object, place: Place, reading: Reading) -> object: ...


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, bool or int. `lower`: a string that is lower-cased as it is read."""

    python_type: type
    go_type: str
    zero: object
    lower: bool = False

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if isinstance(value, self.python_type) and self._fits(value):
            return value.lower() if self.lower and isinstance(value, str) else self.python_type(value)
        what = found(value)
        if what == "number" and self.python_type is int:
            what = f"number {source(value)}"
        reading.save(place.mismatch(what, self.go_type))
        return self.zero

    def _fits(self, value: object) -> bool:
        """An int of Go's range; Python's bools are ints as well, and must not pass for them."""
        if not isinstance(value, int) or self.python_type is bool:
            return True
        return not isinstance(value, bool) and -(2**63) <= value < 2**63


STRING = Scalar(str, "string", "")
LOWER_STRING = Scalar(str, "string", "", lower=True)
BOOL = Scalar(bool, "bool", False)
INT = Scalar(int, "int", 0)


@dataclass(frozen=True, slots=True)
class AnyJson:
    """Any value, as plain Python values."""

    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        return plain(value, place, reading)


ANY = AnyJson()


@dataclass(frozen=True, slots=True)
class Raw:
    """A value together with its spelling in the body."""

    text: str
    value: object


@dataclass(frozen=True, slots=True)
class RawJson:
    """Any value as a `Raw`; the spelling of objects and of "json" is not worth an exact reading."""

    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if isinstance(value, Sourced):
            return Raw(value.source, plain(value, place, reading))
        if isinstance(value, dict | bool) or value == "json":
            content = plain(value, place, reading)
            return Raw(encode(content).decode(), content)
        raise NeedsExactReading


RAW = RawJson()


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object with any content, as a dict."""

    go_type: str = "map[string]interface {}"
    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if isinstance(value, dict):
            return plain(value, place, reading)
        reading.save(place.mismatch(found(value), self.go_type))
        return {}


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose values are all of one kind."""

    item: Kind
    go_type: str
    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if isinstance(value, dict):
            return {str(key): _read_or_zero(self.item, inner, place, reading) for key, inner in value.items()}
        reading.save(place.mismatch(found(value), self.go_type))
        return {}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements are all of one kind."""

    item: Kind
    go_type: str
    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if isinstance(value, list):
            return [_read_or_zero(self.item, inner, place, reading) for inner in value]
        reading.save(place.mismatch(found(value), self.go_type))
        return []


@dataclass(frozen=True, slots=True)
class Base64:
    """Bytes in standard, padded base64; line breaks inside are allowed."""

    go_type: str
    zero: object = b""

    def read(self, value: object, place: Place, reading: Reading) -> object:
        if not isinstance(value, str):
            reading.save(place.mismatch(found(value), self.go_type))
            return b""
        text = value.encode("utf-8", "replace")
        bad = _illegal_base64_at(text)
        if bad is not None:
            reading.save(f"illegal base64 data at input byte {bad}")
            return b""
        return base64.b64decode(text)


@dataclass(frozen=True, slots=True)
class Own:
    """A value with its own decoder: `read_value` returns the result or raises ValueError with the text."""

    read_value: Callable[[object], object]
    zero: object = None

    def read(self, value: object, place: Place, reading: Reading) -> object:
        inner = Reading(reading.exact)
        content = plain(value, Place(place.struct, place.path, pinned=True), inner)
        if inner.first_problem is not None:
            raise Refused(inner.first_problem)
        try:
            return self.read_value(content)
        except ValueError as problem:
            raise Refused(str(problem)) from None


def read_keep_alive(value: object) -> float:
    """Seconds; FOREVER for every negative one. Numbers are seconds, strings Go durations."""
    if isinstance(value, str):
        nanoseconds = parse_duration(value)
        return nanoseconds / 1e9 if nanoseconds >= 0 else FOREVER
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if value >= 0 else FOREVER
    names = {bool: "bool", list: "[]interface {}", dict: "map[string]interface {}"}
    raise ValueError(f"Unsupported type: '{names[type(value)]}'")


def read_think(value: object) -> bool | str:
    """True, False or a level."""
    if isinstance(value, bool):
        return value
    accepted = '"high", "medium", "low", "max", true, or false'
    if not isinstance(value, str):
        raise ValueError(f"think must be a boolean or string ({accepted})")
    if value not in _LEVELS:
        raise ValueError(f"invalid think value: {go_quoted(value)} (must be {accepted})")
    return value


def read_arguments(value: object) -> dict[str, object]:
    """The arguments of a tool call: an object, never a string that holds one."""
    if not isinstance(value, dict):
        raise ValueError(_NOT_AN_OBJECT)
    return value


KEEP_ALIVE = Own(read_keep_alive)
THINK = Own(read_think)
ARGUMENTS = Own(read_arguments)


def _read_or_zero(kind: Kind, value: object, place: Place, reading: Reading) -> object:
    return kind.zero if value is None else kind.read(value, place, reading)


def _illegal_base64_at(text: bytes) -> int | None:
    """Where Go's decoder stops, or None when it does not."""
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        pass
    else:
        return None
    match = _BASE64.match(text)
    stop = match.end() if match else 0
    position = (stop - text.count(b"\n", 0, stop) - text.count(b"\r", 0, stop)) % 4
    if stop == len(text):
        return stop - position if position else None
    if text[stop : stop + 1] != b"=" or position < 2:
        return stop
    rest = stop + 1
    if position == 2:
        rest = _after_breaks(text, rest)
        if text[rest : rest + 1] != b"=":
            return len(text) if rest == len(text) else rest - 1
        rest += 1
    rest = _after_breaks(text, rest)
    return rest if rest < len(text) else None


def _after_breaks(text: bytes, at: int) -> int:
    while text[at : at + 1] in (b"\n", b"\r"):
        at += 1
    return at
