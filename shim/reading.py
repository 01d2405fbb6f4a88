"""The state of reading one body: where we are, what was wrong so far, and plain values out of scanned ones.

Below the kinds and structs of `shim.bodykinds` and `shim.bodies`; the words are those of Go's decoder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shim import goscan

# Values nested deeper are left to the exact reading, which knows the limit's message.
_DEPTH = goscan.MAX_DEPTH - 8


class NeedsExactReading(Exception):
    """The quick pass met something that needs the exact one; never leaves `bodies.decode`."""


class Refused(Exception):
    """A type's own decoder refused its value, which ends the reading at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where we are, in the words of Go's messages. `pinned`: inside a type with its own decoder."""

    struct: str = ""
    path: str = ""
    pinned: bool = False

    def field(self, struct: str, name: str) -> Place:
        path = f"{self.path}.{name}" if self.path else name
        return Place(self.struct if self.pinned else struct, path, self.pinned)

    def mismatch(self, found: str, go_type: str) -> str:
        into = f"struct field {self.struct}.{self.path}" if self.struct else "value"
        return f"json: cannot unmarshal {found} into Go {into} of type {go_type}"


class Reading:
    """What was found wrong so far: Go reads on after a wrong type, and reports the first."""

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.first_problem: str | None = None

    def save(self, text: str) -> None:
        if not self.exact:
            raise NeedsExactReading
        if self.first_problem is None:
            self.first_problem = text


def found(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def source(value: object) -> str:
    return value.source if isinstance(value, goscan.Sourced) else str(value)


def plain(value: object, place: Place, reading: Reading, depth: int = _DEPTH) -> object:
    """Exact built-in types; a number that no float64 can hold is a problem."""
    if isinstance(value, dict | list) and depth == 0:
        raise NeedsExactReading
    if isinstance(value, dict):
        return {str(key): plain(inner, place, reading, depth - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner, place, reading, depth - 1) for inner in value]
    if isinstance(value, goscan.Text):
        return str(value)
    if isinstance(value, goscan.Int):
        return int(value)
    if isinstance(value, float):
        if math.isinf(value):
            reading.save(place.mismatch(f"number {source(value)}", "float64"))
        return float(value)
    return value
