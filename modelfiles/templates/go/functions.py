"""The functions that a template can call: those of Go and those of Ollama. Their number of arguments is
checked by the caller.

Pure: the date is part of the setting. Knows nothing of expressions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from modelfiles.templates.go.comparing import equal, equal_any, less, less_or_equal
from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.formats import printf_text
from modelfiles.templates.go.indexing import element, length, part
from modelfiles.templates.go.marshal import marshal
from modelfiles.templates.go.methods import typescript_type
from modelfiles.templates.go.printing import Charge, pointed_to, print_text, println_text
from modelfiles.templates.go.quoting import html_escaped, js_escaped, query_escaped
from modelfiles.templates.go.values import INVALID, Value, type_of
from modelfiles.templates.go.values import Function as FunctionValue

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a rendering gives to functions: a meter for what they write, and the local date."""

    charge: Charge
    today: date


@dataclass(frozen=True, slots=True)
class Builtin:
    """`least` arguments, or more if it is `variadic`. `texts`: so many of them, from the first, are
    strings.
    """

    call: Callable[[Setting, Sequence[Value]], Value]
    least: int
    variadic: bool = False
    texts: int = 0


def is_true(value: Value) -> bool:
    return bool(value)


def _eq(_: Setting, values: Sequence[Value]) -> Value:
    return equal_any(values[0], values[1:])


def _json(setting: Setting, values: Sequence[Value]) -> Value:
    try:
        text = marshal(values[0])
    except ValueError:
        return ""  # Ollama drops the encoder's error
    setting.charge(len(text))
    return text


def _escaper(escape: Callable[[str], str]) -> Builtin:
    def call(setting: Setting, values: Sequence[Value]) -> Value:
        text = print_text([pointed_to(value) for value in values], setting.charge)
        setting.charge(6 * len(text))
        return escape(text)

    return Builtin(call, 0, variadic=True)


def call_value(callee: Value, name: str) -> Value:
    """Nothing that a template is given can be called. Raises Fault."""
    if callee is None or callee is INVALID:
        raise Fault("call of nil")
    if isinstance(callee, FunctionValue):
        raise Fault(f"function {name} has 0 return values; should be 1 or 2")
    raise Fault(f"non-function {name} of type {type_of(callee).name}")


# and, or and call are not here: they look at their arguments as written.
FUNCTIONS: Mapping[str, Builtin] = {
    "not": Builtin(lambda _, values: not values[0], 1),
    "eq": Builtin(_eq, 1, variadic=True),
    "ne": Builtin(lambda _, values: not equal(values[0], values[1]), 2),
    "lt": Builtin(lambda _, values: less(values[0], values[1]), 2),
    "le": Builtin(lambda _, values: less_or_equal(values[0], values[1]), 2),
    "gt": Builtin(lambda _, values: not less_or_equal(values[0], values[1]), 2),
    "ge": Builtin(lambda _, values: not less(values[0], values[1]), 2),
    "len": Builtin(lambda _, values: length(values[0]), 1),
    "index": Builtin(lambda _, values: element(values[0], values[1:]), 1, variadic=True),
    "slice": Builtin(lambda _, values: part(values[0], values[1:]), 1, variadic=True),
    "print": Builtin(lambda setting, values: print_text(values, setting.charge), 0, variadic=True),
    "println": Builtin(lambda setting, values: println_text(values, setting.charge), 0, variadic=True),
    "printf": Builtin(
        lambda setting, values: printf_text(str(values[0]), values[1:], setting.charge),
        1,
        variadic=True,
        texts=1,
    ),
    "html": _escaper(html_escaped),
    "js": _escaper(js_escaped),
    "urlquery": _escaper(query_escaped),
    "json": Builtin(_json, 1),
    "currentDate": Builtin(lambda setting, _: setting.today.isoformat(), 0, variadic=True, texts=1 << 30),
    "yesterdayDate": Builtin(
        lambda setting, _: (setting.today - _ONE_DAY).isoformat(), 0, variadic=True, texts=1 << 30
    ),
    "toTypeScriptType": Builtin(lambda _, values: typescript_type(values[0]), 1),
}
SPECIAL = ("and", "or", "call")
NAMES = frozenset((*FUNCTIONS, *SPECIAL))
# Those that Ollama adds; a template cut after its answer does without.
ADDED = frozenset(("json", "currentDate", "yesterdayDate", "toTypeScriptType"))
