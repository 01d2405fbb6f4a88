"""What `range` goes over: the keys and elements of a value, one after another. Knows nothing of templates."""

from collections.abc import Iterable, Iterator

from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.formats import printf_text
from modelfiles.templates.go.printing import Charge, pointed_to
from modelfiles.templates.go.values import (
    INVALID,
    Function,
    Uint8,
    Value,
    elements_of,
    entries_of,
    sorted_entries,
    type_of,
)


def pairs_of(value: Value, variables: int, charge: Charge) -> tuple[Iterable[tuple[Value, Value]], bool]:
    """Keys with elements, and whether those are in interfaces. Raises Fault for what has none.

    Numbers are counted up to as the turns come.
    """
    if value is INVALID:
        return (), False
    if isinstance(value, int) and not isinstance(value, bool):
        if variables > 1:
            raise Fault(f"can't use {int(value)} to iterate over more than one variable")
        return _counted(value), False
    if isinstance(value, Function):
        # With one variable or none, Go takes the first of each pair.
        return ((key, element if variables > 1 else key) for key, element in value.pairs.items()), False
    boxed = type_of(value).holds_anything
    entries = entries_of(value)
    if entries is not None:
        return sorted_entries(entries), boxed
    elements = elements_of(value) if type_of(value).kind == "slice" else None
    if elements is None:
        raise Fault(f"range can't iterate over {printf_text('%v', [pointed_to(value)], charge)}")
    return enumerate(elements), boxed


def _counted(end: int) -> Iterator[tuple[Value, Value]]:
    kind = Uint8 if isinstance(end, Uint8) else int
    return ((INVALID, kind(number)) for number in range(end))
