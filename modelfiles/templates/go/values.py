"""Go's values as Python's, and their types.

bool, int, float, complex and str stand for themselves; dict is `map[string]interface {}` and list
`[]interface {}`, as JSON makes them; bytes is an image. Everything else has a class here. None is a nil in an
interface; `INVALID` is no value at all, which is what a nil becomes once it has gone through a pipeline.
The truth of all of them is Go's. Knows nothing of messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = object


@dataclass(frozen=True, slots=True, eq=False)
class GoField:
    """A field of a struct. `key` is its name in JSON; `omitted`: not written if empty."""

    name: str
    type: GoType
    key: str = ""
    omitted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GoType:
    """`element` is that of slices, maps and pointers. Types are compared by identity."""

    name: str
    kind: str
    element: GoType | None = None
    fields: tuple[GoField, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether `==` is defined. No struct here has only fields for which it is."""
        return self.kind not in ("slice", "map", "func", "struct")

    @property
    def holds_anything(self) -> bool:
        """Whether elements are interfaces."""
        return self.element is ANY


INVALID_TYPE = GoType("<nil>", "invalid")
ANY = GoType("interface {}", "interface")
BOOL = GoType("bool", "bool")
INT = GoType("int", "int")
UINT8 = GoType("uint8", "uint")
FLOAT = GoType("float64", "float")
COMPLEX = GoType("complex128", "complex")
STRING = GoType("string", "string")
ANY_LIST = GoType("[]interface {}", "slice", ANY)
ANY_MAP = GoType("map[string]interface {}", "map", ANY)
BYTES = GoType("[]uint8", "slice", UINT8)
STRINGS = GoType("[]string", "slice", STRING)
IMAGE = GoType("api.ImageData", "slice", UINT8)


class _Invalid:
    """The only instance is `INVALID`."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


INVALID = _Invalid()


class Uint8(int):
    """An unsigned byte."""

    __slots__ = ()


class Struct:
    """A struct, or with `pointer` a pointer to it, which is never nil."""

    __slots__ = ("fields", "pointer", "type")

    def __init__(self, type_: GoType, fields: Mapping[str, Value], pointer: GoType | None = None) -> None:
        self.type = type_
        self.fields = fields
        self.pointer = pointer


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A part of `items` of a type of its own. `capacity` counts from `start`, as `slice` may reach so far."""

    type: GoType
    items: Sequence[Value]
    start: int
    stop: int
    capacity: int
    is_nil: bool = False

    def __len__(self) -> int:
        return self.stop - self.start

    def __iter__(self) -> Iterator[Value]:
        return iter(self.items[self.start : self.stop])

    def at(self, index: int) -> Value:
        return self.items[self.start + index]


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """A map with strings for keys and a type of its own; nil if `entries` is None."""

    type: GoType
    entries: Mapping[str, Value] | None

    def __len__(self) -> int:
        return len(self.entries or ())


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A pointer to something whose inside no template sees; `target` keeps its order. Nil if None."""

    type: GoType
    target: Mapping[str, Value] | None

    def __bool__(self) -> bool:
        return self.target is not None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that yields pairs, which only range can use."""

    type: GoType
    pairs: Mapping[str, Value] = field(default_factory=dict)


_TYPES: Mapping[type, GoType] = {
    bool: BOOL, int: INT, Uint8: UINT8, float: FLOAT, complex: COMPLEX, str: STRING, list: ANY_LIST,
    dict: ANY_MAP, bytes: IMAGE, type(None): ANY, _Invalid: INVALID_TYPE,
}  # fmt: skip


def slice_of(type_: GoType, items: Sequence[Value] | None) -> Slice:
    """A slice of all of `items`; nil if None."""
    count = len(items or ())
    return Slice(type_, items or (), 0, count, count, is_nil=items is None)


def type_of(value: Value) -> GoType:
    """The type; that of a nil in an interface is the interface's."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, Struct):
        return value.pointer or value.type
    assert isinstance(value, Slice | Map | Pointer | Function)
    return value.type


def is_nil(value: Value) -> bool:
    """Whether it is nothing, or the nil of its type."""
    if value is None or value is INVALID:
        return True
    if isinstance(value, Slice):
        return value.is_nil
    if isinstance(value, Map):
        return value.entries is None
    return isinstance(value, Pointer) and value.target is None


def entries_of(value: Value) -> Mapping[str, Value] | None:
    """What a map holds; None if it is no map. A nil map is an empty one."""
    if isinstance(value, dict):
        return value
    return value.entries or {} if isinstance(value, Map) else None


def sorted_entries(entries: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """In the order in which Go visits a map: by the bytes of the keys, which is that of their characters."""
    return sorted(entries.items())


def elements_of(value: Value) -> Sequence[Value] | None:
    """The elements of a slice; None if it is none."""
    if isinstance(value, list):
        return value
    if isinstance(value, bytes):
        return [Uint8(byte) for byte in value]
    return list(value) if isinstance(value, Slice) else None
