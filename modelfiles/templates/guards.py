"""What templates may do to values: operators, methods and filters, each paid for before it runs.

An operation that can make something much larger than its operands first pays for the size of its result;
a method or filter that is not listed here does not exist for a template. Knows nothing of messages.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sized
from datetime import datetime
from typing import Any

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import ITEM_COST, Budget

_MAX_BITS = 1_024
_MAX_WIDTH = 1_000
_MAX_STRIPPED = 256
# Field widths that pad, and those that are taken from an argument.
_WIDE_FIELD = re.compile(r"\d{4,}|%[^a-zA-Z%]*\*|\{[^{}]*\{")
_WIDE_TIME = re.compile(r"%[^a-zA-Z%]*\d{3,}")

_words = str.split
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        _words(
            "capitalize casefold center count endswith expandtabs find index isalnum isalpha isascii "
            "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust "
            "lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit "
            "rstrip split splitlines startswith strip swapcase title upper zfill"
        )
    ),
    list: frozenset(_words("append copy count extend index insert pop")),
    tuple: frozenset(_words("count index")),
    dict: frozenset(_words("copy get items keys values")),
}
_FREE_METHODS = frozenset(_words("append items keys values"))
_CHEAP_METHODS = frozenset(_words("get pop startswith endswith"))


def operate(budget: Budget, sign: str, left: Any, right: Any) -> Any:
    """`left sign right` for the operators whose result can outgrow its operands: + * ** %."""
    if sign == "%" and isinstance(left, str):
        charge_format(budget, left, right)
    elif isinstance(left, int) and isinstance(right, int):
        _check_numbers(sign, left, right)
    elif sign == "*":
        _charge_repetition(budget, left, right)
    elif isinstance(left, Sized) and isinstance(right, Sized):
        budget.charge(len(left) + len(right))
    return _OPERATORS[sign](left, right)


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": operator.pow,
    "%": operator.mod,
}


def check_method(budget: Budget, method: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Pay for a call of a built-in type's method. Raises TemplateError for one that no template needs."""
    owner, name = method.__self__, method.__name__
    if name not in _METHODS.get(type(owner), ()):
        raise TemplateError(f"a chat template may not call {name!r} of a {type(owner).__name__}")
    if name in _CHEAP_METHODS:
        _charge_cheap(budget, owner, args)
    elif name not in _FREE_METHODS:
        budget.charge_text(owner)
        charge = _METHOD_COSTS.get(name)
        if charge is not None:
            charge(budget, owner, (*args, *kwargs.values()))


def charge_format(budget: Budget, text: str, values: Any) -> None:
    """Pay for filling `values` into `text`, in either notation. Refuses widths that only make it large."""
    if _WIDE_FIELD.search(text):
        raise TemplateError("a chat template may not pad text to a great width")
    fields = text.count("%") + text.count("{")
    budget.charge(len(text) + fields * _MAX_WIDTH)
    budget.charge_text(values, max(1, fields))


def charge_replacement(budget: Budget, text: str, old: Any, new: Any) -> None:
    """Pay for replacing every `old` in `text` by `new`."""
    count = text.count(old) if old else len(text) + 1
    budget.charge(len(text) + count * len(new))


def charge_join(budget: Budget, separator: str, items: Any) -> None:
    """Pay for the text of `items` with `separator` between them."""
    budget.charge_text(items)
    budget.charge(len(separator) * len(items))


def charge_width(budget: Budget, width: Any) -> None:
    """Pay for padding to `width` characters."""
    if isinstance(width, int):
        budget.charge(max(0, width))


def check_stripped(characters: Any) -> None:
    """Stripping compares every character with every one of these."""
    if isinstance(characters, str) and len(characters) > _MAX_STRIPPED:
        raise TemplateError("a chat template may not strip that many different characters")


def safe_key(key: Any) -> Any:
    """A key for a mapping: plain ones only, since hashing a nested one may take for ever."""
    if isinstance(key, str | int | float) or key is None:
        return key
    raise TemplateError(f"a {type(key).__name__} is no key for a mapping in a chat template")


def format_time(budget: Budget, now: datetime, text: str) -> str:
    """`strftime_now` of templates, for the moment `now`."""
    if _WIDE_TIME.search(text) or len(text) > _MAX_WIDTH:
        raise TemplateError("a chat template asks for a date in no sensible format")
    told = now.strftime(text)
    budget.charge(len(told))
    return told


def check_number(value: Any) -> Any:
    """`value`, which is no number that is slow to work with."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise TemplateError("a chat template may not work with numbers that large")
    return value


def _check_numbers(sign: str, left: int, right: int) -> None:
    bits = {"*": left.bit_length() + right.bit_length(), "**": left.bit_length() * max(0, right)}
    if bits.get(sign, 0) > _MAX_BITS:
        raise TemplateError("a chat template may not work with numbers that large")


def _charge_repetition(budget: Budget, left: Any, right: Any) -> None:
    items, count = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(count, int) and isinstance(items, Sized):
        cost = 1 if isinstance(items, str) else ITEM_COST
        budget.charge(max(0, count) * len(items) * cost)


def _charge_cheap(budget: Budget, owner: Any, args: tuple[Any, ...]) -> None:
    """What is paid for is what is looked for, and the items that move up where one is taken out in front."""
    if args and isinstance(args[0], str | tuple):
        budget.charge_text(args[0])
    elif args and type(owner) is list:
        budget.charge(len(owner) // 64)


def _charge_split(budget: Budget, text: str, args: tuple[Any, ...]) -> None:
    separator = args[0] if args and isinstance(args[0], str) and args[0] else None
    parts = text.count(separator) + 1 if separator else len(text) // 2 + 1
    budget.charge(parts * ITEM_COST)


def _charge_first_width(budget: Budget, text: Any, args: tuple[Any, ...]) -> None:
    charge_width(budget, args[0] if args else 0)


def _charge_tabs(budget: Budget, text: str, args: tuple[Any, ...]) -> None:
    budget.charge(text.count("\t") * (args[0] if args and isinstance(args[0], int) else 8))


def _charge_replace(budget: Budget, text: str, args: tuple[Any, ...]) -> None:
    if len(args) > 1 and isinstance(args[0], str) and isinstance(args[1], str):
        charge_replacement(budget, text, args[0], args[1])


def _charge_join(budget: Budget, text: str, args: tuple[Any, ...]) -> None:
    if args and isinstance(args[0], Sized):
        charge_join(budget, text, args[0])
    elif args:
        raise TemplateError("a chat template may join lists only")


def _charge_items(budget: Budget, owner: Any, args: tuple[Any, ...]) -> None:
    for arg in args:
        budget.metered(arg)


def _check_strip(budget: Budget, text: str, args: tuple[Any, ...]) -> None:
    if args:
        check_stripped(args[0])


_METHOD_COSTS: Mapping[str, Callable[[Budget, Any, tuple[Any, ...]], None]] = {
    "center": _charge_first_width,
    "ljust": _charge_first_width,
    "rjust": _charge_first_width,
    "zfill": _charge_first_width,
    "expandtabs": _charge_tabs,
    "replace": _charge_replace,
    "join": _charge_join,
    "extend": _charge_items,
    "split": _charge_split,
    "rsplit": _charge_split,
    "splitlines": _charge_split,
    "strip": _check_strip,
    "lstrip": _check_strip,
    "rstrip": _check_strip,
}
