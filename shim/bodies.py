"""Request bodies, read as Go reads them into a declared struct, with Go's words for what does not fit.

A dialect declares its requests as tables of fields (`Struct`, `Field`, and the kinds of `shim.bodykinds`)
and gets a dict that holds only what was given: unknown keys are dropped, keys match in any case, a later
duplicate wins, null means not given. Fields marked `empty_is_absent` treat "", [] and {} like null, since
clients send those for "unset".

Which error is reported follows Go: bad syntax first; then the first value that a type's own decoder refused
(messages, think, keep_alive, arguments), wherever it stands; then the first value of a wrong type.

Two passes: msgspec reads the body at C speed, and whatever does not fit at once is read again by
`shim.goscan`, which knows the exact words. Knows no socket and no particular request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from shim import goscan
from shim.bodykinds import Kind
from shim.errors import bad_request
from shim.reading import NeedsExactReading, Place, Reading, Refused, found

_FOLDED = str.maketrans({"\u212a": "k", "\u017f": "s"})  # the only other letters that fold to ASCII


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a struct."""

    name: str
    kind: Kind
    empty_is_absent: bool = False


class Struct:
    """An object with known fields. `own_decoder`: its errors end the reading and are told from outside."""

    zero: object

    def __init__(self, name: str, fields: Iterable[Field], *, own_decoder: str = "") -> None:
        self.name = name
        self.go_type = f"api.{own_decoder or name}"
        self.own_decoder = bool(own_decoder)
        self.by_name = {field.name: field for field in fields}
        self.by_folded = {_fold(name): field for name, field in self.by_name.items()}
        self.zero = {}

    def read(self, value: object, place: Place, reading: Reading) -> dict[str, object]:
        if not self.own_decoder:
            return self._fields(value, place, reading)
        inner = Reading(reading.exact)
        result = self._fields(value, Place(place.struct, place.path, pinned=True), inner)
        if inner.first_problem is not None:
            raise Refused(inner.first_problem)
        return result

    def _fields(self, value: object, place: Place, reading: Reading) -> dict[str, object]:
        if not isinstance(value, dict):
            reading.save(place.mismatch(found(value), self.go_type))
            return {}
        result: dict[str, object] = {}
        for key, inner in self._pairs(value, reading):
            field = self.by_name.get(key) or self.by_folded.get(_fold(key))
            if field is None or inner is None or (field.empty_is_absent and inner in ("", [], {})):
                continue
            result[field.name] = field.kind.read(inner, place.field(self.name, field.name), reading)
        return result

    def _pairs(self, value: Mapping[str, object], reading: Reading) -> Iterable[tuple[str, object]]:
        if isinstance(value, goscan.Object):
            return value.pairs
        # A dict has lost the order between spellings of one key.
        if any(key not in self.by_name and _fold(key) in self.by_folded for key in value):
            raise NeedsExactReading
        return value.items()


def decode(body: bytes, shape: Struct) -> dict[str, object]:
    """The fields of `shape` that the body gives. ApiError 400 with Go's text for everything else."""
    try:
        return _decoded(msgspec.json.decode(body), shape, Reading(exact=False))
    except (msgspec.DecodeError, RecursionError, UnicodeError, NeedsExactReading, Refused):
        value = goscan.scan(body)
    reading = Reading(exact=True)
    try:
        result = _decoded(value, shape, reading)
    except Refused as refusal:
        raise bad_request(str(refusal)) from None
    if reading.first_problem is not None:
        raise bad_request(reading.first_problem)
    return result


def _decoded(value: object, shape: Struct, reading: Reading) -> dict[str, object]:
    return {} if value is None else shape.read(value, Place(), reading)


def _fold(key: str) -> str:
    return key.translate(_FOLDED).lower()
