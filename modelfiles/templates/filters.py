"""The filters and tests that exist for chat templates.

Some are Jinja's own: what they cost is taken from their operand alone (`LIGHT` looks at its outside, `HEAVY`
reads all of it). The others are written here because Jinja's would grow without limit, mark text as HTML, or
write JSON as a web page needs it. `PAID` names those that are written here and pay themselves.
"""

import json
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from jinja2 import Undefined, pass_context
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.tests import TESTS
from markupsafe import escape

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import Budget
from modelfiles.templates.guards import (
    charge_format,
    charge_join,
    charge_replacement,
    charge_width,
    check_number,
    check_stripped,
)

_words = str.split
LIGHT = frozenset(_words("abs attr count d default first float items last length list reverse"))
HEAVY = frozenset(
    _words(
        "capitalize dictsort groupby lower map max min reject rejectattr select selectattr sort title "
        "truncate unique upper urlencode wordcount"
    )
)
_MAX_INDENT = 64
_UNTESTED = frozenset(("in", "lower", "upper"))


@pass_context
def join(context: Context, value: Any, d: str = "", attribute: str | int | None = None) -> str:
    """The text of all items with `d` between them; with `attribute`, that of each item."""
    budget = budget_of(context)
    items = [*budget.metered(value)] if value is not None else []  # type: ignore[misc]  # iterable or TypeError
    if attribute is not None:
        items = [context.environment.getitem(item, attribute) for item in items]
    charge_join(budget, str(d), items)
    return str(d).join(map(str, items))


@pass_context
def replace(context: Context, value: Any, old: str, new: str, count: int | None = None) -> str:
    text = as_text(context, value)
    charge_replacement(budget_of(context), text, old, new)
    return text.replace(old, new, -1 if count is None else count)


@pass_context
def trim(context: Context, value: Any, chars: str | None = None) -> str:
    check_stripped(chars)
    return as_text(context, value).strip(chars)


@pass_context
def indent(
    context: Context, value: Any, width: int | str = 4, first: bool = False, blank: bool = False
) -> str:
    """Every line but the first, and no blank one, moved right by `width` blanks or by that text."""
    text = as_text(context, value)
    margin = width if isinstance(width, str) else " " * min(width, _MAX_INDENT)
    budget_of(context).charge((text.count("\n") + 1) * len(margin))
    lines = [margin + line if line.strip() or blank else line for line in text.splitlines(keepends=True)]
    indented = "".join(lines)
    return indented if first or not lines or not lines[0].strip() else indented.removeprefix(margin)


@pass_context
def center(context: Context, value: Any, width: int = 80) -> str:
    charge_width(budget_of(context), width)
    return as_text(context, value).center(width)


@pass_context
def format_text(context: Context, value: Any, *args: Any, **kwargs: Any) -> str:
    """printf-style, as Jinja's."""
    text = str(value)
    charge_format(budget_of(context), text, (args, dict(kwargs)))
    return text % (kwargs or args)


@pass_context
def to_json(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as templates expect it: nothing escaped for HTML, `", "` and `": "` between parts."""
    if not 0 <= (indent or 0) <= _MAX_INDENT:
        raise TemplateError(f"a chat template may not indent JSON by {indent!r}")
    budget_of(context).charge_text(value)
    if indent:
        budget_of(context).charge_margins(value, indent)
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=tuple(separators) if separators else None,  # type: ignore[arg-type]  # checked by dumps
        sort_keys=sort_keys,
        default=_json_default,
    )


@pass_context
def from_json(context: Context, value: Any) -> Any:
    return json.loads(as_text(context, value))


@pass_context
def string(context: Context, value: Any) -> str:
    return as_text(context, value)


@pass_context
def escape_html(context: Context, value: Any) -> str:
    """Plain text again, unlike Jinja's, which would go on to escape whatever is joined to it."""
    return str(escape(as_text(context, value)))


def safe(value: Any) -> Any:
    """There is no HTML here, so nothing to mark."""
    return value


@pass_context
def whole(context: Context, value: Any, default: int = 0, base: int = 10) -> int:
    budget_of(context).charge_text(value)
    number: int = FILTERS["int"](value, default, base)
    check_number(number)
    return number


def round_number(value: float, precision: int = 0, method: str = "common") -> float:
    if abs(precision) > _MAX_INDENT:
        raise TemplateError("a chat template may not round to that many digits")
    rounded: float = FILTERS["round"](value, precision, method)
    return rounded


@pass_context
def total(context: Context, value: Any, attribute: str | int | None = None, start: float = 0) -> Any:
    """The sum of numbers; lists would be copied for every addition."""
    items: Any = budget_of(context).metered(value)
    if attribute is not None:
        items = (context.environment.getitem(item, attribute) for item in items)
    return sum(map(_number, items), _number(start))


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"a chat template adds up a {type(value).__name__}")


@pass_context
def is_in(context: Context, value: Any, container: Any) -> bool:
    """The test `in`."""
    charge_search(budget_of(context), container)
    return value in container


def charge_search(budget: Budget, container: Any) -> None:
    """Pay for looking something up in `container`."""
    if isinstance(container, str | list | tuple | ValuesView | ItemsView):
        budget.charge_text(list(container) if isinstance(container, ValuesView | ItemsView) else container)
    elif isinstance(container, range):
        budget.charge(len(container))


def budget_of(context: Context) -> Budget:
    """The budget of the rendering that `context` belongs to."""
    budget: Budget = context.environment.budget  # type: ignore[attr-defined]  # of our own environment
    return budget


def as_text(context: Context, value: Any) -> str:
    """`value` as Jinja would print it, paid for."""
    budget_of(context).charge_text(value)
    return value if type(value) is str else str(value)


def _json_default(value: object) -> object:
    if isinstance(value, Undefined):
        return None
    if isinstance(value, Iterator | KeysView | ValuesView | ItemsView | range):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON")


PAID: dict[str, Callable[..., Any]] = {
    "center": center,
    "e": escape_html,
    "escape": escape_html,
    "format": format_text,
    "from_json": from_json,
    "indent": indent,
    "int": whole,
    "join": join,
    "replace": replace,
    "round": round_number,
    "safe": safe,
    "string": string,
    "sum": total,
    "tojson": to_json,
    "trim": trim,
}


def make_filters() -> dict[str, Callable[..., Any]]:
    """Every filter by name."""
    jinjas: dict[str, Callable[..., Any]] = {name: FILTERS[name] for name in LIGHT | HEAVY}
    return {**jinjas, **PAID}


def make_tests() -> dict[str, Callable[..., Any]]:
    """Every test by name."""
    jinjas: dict[str, Any] = dict(TESTS)
    return {**{name: test for name, test in jinjas.items() if name not in _UNTESTED}, "in": is_in}
