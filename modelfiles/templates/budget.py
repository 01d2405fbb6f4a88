"""How much work one rendering may do, counted instead of timed, so that the same input always ends the same.

One unit stands for one character made or searched; a loop item and a call cost several. Templates come with
models from strangers, so nothing they do may go uncounted. Knows nothing of Jinja.
"""

from collections.abc import Iterable, Iterator, Mapping, Sized

from modelfiles.errors import TemplateError

ITEM_COST = 8
CALL_COST = 16
# Real templates need up to 20 units a character of their input. One known family looks at all messages for
# each message, so long chats get room for that; the ceiling bounds the memory that text can take.
_BASE_UNITS = 8_000_000
_UNITS_PER_CHARACTER = 1_000
_MOST_UNITS = 400_000_000


class Budget:
    """The units that are left. One per rendering, used by one thread."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    @classmethod
    def for_input(cls, value: object) -> "Budget":
        """A budget for a rendering whose variables are `value`."""
        size = measure(value, _MOST_UNITS)
        return cls(min(_BASE_UNITS + _UNITS_PER_CHARACTER * size, _MOST_UNITS))

    def charge(self, units: int) -> None:
        """Take `units`. Raises TemplateError when they are not there."""
        self.left -= units
        if self.left < 0:
            raise TemplateError("the chat template was stopped: it does far more work than the messages need")

    def charge_text(self, value: object, times: int = 1) -> None:
        """Take what it costs to write `value` out as text, however deeply it is nested, `times` over."""
        size = len(value) if type(value) is str else measure(value, self.left)
        self.charge(size * times)

    def charge_margins(self, value: object, indent: int) -> None:
        """Take what the blanks before every line cost where `value` is written with a line for each part."""
        level = [value]
        depth = 0
        while level:
            self.charge(indent * depth * len(level))
            level = [part for one in level for part in _inside(one)]
            depth += 1

    def metered(self, items: object) -> object:
        """`items`, paid for: at once where their number is known, else one by one as they are taken."""
        if isinstance(items, Sized):
            self.charge(ITEM_COST * (1 + len(items)))
            return items
        return self._counted(items) if isinstance(items, Iterator) else items

    def _counted(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self.charge(ITEM_COST)
            yield item


def measure(value: object, limit: int) -> int:
    """Characters that `value` has as text, roughly and never much too few; stops counting above `limit`.

    Shared parts count as often as they are reached, because text has no sharing.
    """
    total = 0
    pending = [value]
    while pending:
        part = pending.pop()
        total += _own_size(part)
        if total > limit:
            break
        pending.extend(_parts(part))
    return total


def _own_size(part: object) -> int:
    if isinstance(part, str | bytes):
        return 2 + len(part)
    if isinstance(part, int):
        return ITEM_COST + part.bit_length() // 3
    return ITEM_COST * (1 + len(part)) if isinstance(part, Sized) else ITEM_COST


def _inside(part: object) -> Iterable[object]:
    if isinstance(part, Mapping):
        return part.values()
    return part if isinstance(part, list | tuple) else ()


def _parts(part: object) -> Iterable[object]:
    if isinstance(part, Mapping):
        return [*part.keys(), *part.values()]
    return part if isinstance(part, list | tuple | set | frozenset) else ()
