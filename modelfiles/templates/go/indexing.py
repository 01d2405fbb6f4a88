"""index, slice and len: parts and sizes of strings, lists and maps. Strings are counted in bytes.

Knows nothing of templates.
"""

from collections.abc import Sequence

from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.quoting import byte_length, decoded, encoded
from modelfiles.templates.go.values import (
    ANY_LIST,
    INVALID,
    GoType,
    Map,
    Pointer,
    Slice,
    Struct,
    Uint8,
    Value,
    elements_of,
    entries_of,
    type_of,
)

_ZEROS = {"string": "", "bool": False, "int": 0, "uint": Uint8(0), "float": 0.0}


def length(value: Value) -> int:
    """Raises Fault for what has none."""
    if isinstance(value, list | Slice | dict | Map | bytes):
        return len(value)
    if isinstance(value, str):
        return byte_length(value)
    if value is None or (isinstance(value, Pointer) and not value):
        raise Fault("len of nil pointer")
    if value is INVALID:
        # Go asks nothing for its type, and reports what comes of that.
        raise Fault("reflect: call of reflect.Value.Type on zero Value")
    raise Fault(f"len of type {_pointed_type(value).name}")


def element(value: Value, indexes: Sequence[Value]) -> Value:
    """The element of an element of … Raises Fault."""
    if value is None or value is INVALID:
        raise Fault("index of untyped nil")
    for index in indexes:
        value = _element(value, index)
    return value


def _element(value: Value, index: Value) -> Value:
    if value is None or (isinstance(value, Pointer) and not value):
        raise Fault("index of nil pointer")
    entries = entries_of(value)
    if entries is not None:
        return _entry(value, entries, index)
    if isinstance(value, str):
        data = encoded(value)
        at = _index(index, len(data))
        if at == len(data):
            raise Fault("reflect: string index out of range")
        return Uint8(data[at])
    elements = elements_of(value) if isinstance(value, list | Slice | bytes) else None
    if elements is None:
        raise Fault(f"can't index item of type {_pointed_type(value).name}")
    at = _index(index, len(elements))
    if at == len(elements):
        raise Fault("reflect: slice index out of range")
    return elements[at]


def _entry(value: Value, entries: object, index: Value) -> Value:
    assert isinstance(entries, dict)
    if index is None or index is INVALID:
        raise Fault("value is nil; should be of type string")
    if not isinstance(index, str):
        raise Fault(f"value has type {type_of(index).name}; should be string")
    if index in entries:
        return entries[index]
    return zero(type_of(value).element)


def zero(type_: GoType | None) -> Value:
    """What a map has for a missing key, and a slice behind its end."""
    if type_ is None or type_.kind == "interface":
        return None
    if type_.kind == "struct":
        return Struct(type_, {field.name: zero(field.type) for field in type_.fields})
    if type_.kind == "slice":
        return Slice(type_, (), 0, 0, 0, is_nil=True)
    if type_.kind == "map":
        return Map(type_, None)
    return Pointer(type_, None) if type_.kind == "pointer" else _ZEROS.get(type_.kind)


def part(value: Value, indexes: Sequence[Value]) -> Value:
    """`value[i:j:k]` with as many indexes as there are. Raises Fault."""
    if value is None or value is INVALID:
        raise Fault("slice of untyped nil")
    if isinstance(value, Pointer) and not value:
        raise Fault("slice of nil pointer")
    if len(indexes) > 3:
        raise Fault(f"too many slice indexes: {len(indexes)}")
    if isinstance(value, str):
        if len(indexes) == 3:
            raise Fault("cannot 3-index slice a string")
        data = encoded(value)
        start, stop, _ = _bounds(indexes, len(data), len(data))
        return decoded(data[start:stop])
    whole = as_slice(value)
    if whole is None:
        raise Fault(f"can't slice item of type {_pointed_type(value).name}")
    start, stop, end = _bounds(indexes, len(whole), whole.capacity)
    items = whole.items
    missing = whole.start + stop - len(items)
    if missing > 0:
        items = [*items, *(zero(whole.type.element) for _ in range(missing))]
    return Slice(whole.type, items, whole.start + start, whole.start + stop, end - start, is_nil=whole.is_nil)


def as_slice(value: Value) -> Slice | None:
    """A slice or list as a slice of known capacity; None for anything else."""
    if isinstance(value, Slice):
        return value
    if isinstance(value, list):
        return Slice(ANY_LIST, value, 0, len(value), _decoded_capacity(len(value)))
    if isinstance(value, bytes):
        return Slice(type_of(value), elements_of(value) or (), 0, len(value), len(value))
    return None


def _decoded_capacity(count: int) -> int:
    """What Go's decoder of JSON has reserved for so many elements; large lists are taken to be full."""
    return 1 << (count - 1).bit_length() if 0 < count <= 512 else count


def _bounds(indexes: Sequence[Value], count: int, capacity: int) -> tuple[int, int, int]:
    for index in indexes:
        if index is None:  # Go looks into interfaces for index, but not here
            raise Fault(f"cannot index slice/array with type {type_of(index).name}")
    given = [_index(index, capacity) for index in indexes]
    start, stop, end = [*given, *[0, count, capacity][len(given) :]]
    if start > stop:
        raise Fault(f"invalid slice index: {start} > {stop}")
    if stop > end:
        raise Fault(f"invalid slice index: {stop} > {end}")
    return start, stop, end


def _index(index: Value, capacity: int) -> int:
    if index is None or index is INVALID:
        raise Fault("cannot index slice/array with nil")
    if not isinstance(index, int) or isinstance(index, bool):
        raise Fault(f"cannot index slice/array with type {type_of(index).name}")
    if not 0 <= index <= capacity:
        raise Fault(f"index out of range: {int(index)}")
    return int(index)


def _pointed_type(value: Value) -> GoType:
    """Without a pointer in front."""
    type_ = type_of(value)
    return type_.element if type_.kind == "pointer" and type_.element else type_
