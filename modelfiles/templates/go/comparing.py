"""eq, ne, lt, le, gt and ge: only basic values of the same kind can be compared, and any with nil.

Knows nothing of templates.
"""

from collections.abc import Sequence

from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.formats import printf_text
from modelfiles.templates.go.quoting import encoded
from modelfiles.templates.go.values import INVALID, Value, is_nil, type_of

_BASIC = ("bool", "int", "uint", "float", "complex", "string")


def equal_any(first: Value, others: Sequence[Value]) -> bool:
    """Whether `first` equals one of the others. Raises Fault."""
    if not others:
        raise Fault("missing argument for comparison")
    return any(equal(first, other) for other in others)


def equal(first: Value, second: Value) -> bool:
    if type(first) is type(second) and isinstance(first, str | bool | int | float | complex):
        return first == second
    kinds = _kind(first), _kind(second)
    if kinds in (("int", "uint"), ("uint", "int")):
        return first == second
    if kinds[0] != kinds[1]:
        if _is_nothing(first) or _is_nothing(second):
            return False
        raise Fault(f"incompatible types for comparison: {_type(first)} and {_type(second)}")
    return _equal_others(first, second)


def _equal_others(first: Value, second: Value) -> bool:
    """Of values that are not basic."""
    nothing = _is_nothing(first) or _is_nothing(second)
    if not nothing and type_of(first).kind != type_of(second).kind:
        raise Fault(
            f"non-comparable types {_shown(first)}: {_type(first)}, {_type(second)}: {_shown(second, 'v')}"
        )
    if is_nil(first) or is_nil(second):
        return is_nil(first) and is_nil(second)
    if not type_of(second).comparable:
        raise Fault(f"non-comparable type {_shown(second)}: {_type(second)}")
    return first is second


def less(first: Value, second: Value) -> bool:
    """Raises Fault for what has no order."""
    kinds = _kind(first), _kind(second)
    if "" in kinds:
        raise _no_order()
    if kinds[0] != kinds[1] and kinds not in (("int", "uint"), ("uint", "int")):
        raise Fault(f"incompatible types for comparison: {_type(first)} and {_type(second)}")
    if isinstance(first, str) and isinstance(second, str):
        return first < second if first.isascii() and second.isascii() else encoded(first) < encoded(second)
    if (
        kinds[0] in ("bool", "complex")
        or not isinstance(first, int | float)
        or not isinstance(second, int | float)
    ):
        raise _no_order()
    return first < second


def less_or_equal(first: Value, second: Value) -> bool:
    return less(first, second) or equal(first, second)


def _no_order() -> Fault:
    return Fault("invalid type for comparison")


def _kind(value: Value) -> str:
    """Empty for what is not basic."""
    kind = type_of(value).kind
    return kind if kind in _BASIC else ""


def _is_nothing(value: Value) -> bool:
    return value is None or value is INVALID


def _type(value: Value) -> str:
    return type_of(value).name


def _shown(value: Value, verb: str = "s") -> str:
    return printf_text(f"%{verb}", [value], _free)


def _free(_: int) -> None:
    """The text of one value that came with the request; it costs no more than the request did."""
