"""Calls out of JSON values, in all the shapes in which models wrap them.

A call has a declared name and an object of arguments; anything else is no call.
"""

from collections.abc import Mapping
from typing import Any

from modelfiles.messages import ToolCall
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.lenient import read_json

_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_MOST_LAYERS = 2


class NoCall(ValueError):
    """The text names no declared tool with an object of arguments; says which of the two."""


def calls_in(text: str, tools: DeclaredTools) -> list[ToolCall]:
    """The calls that the JSON `text` holds: one object, or a list of them. Raises NoCall if any is none."""
    try:
        value, supplied = read_json(text)
    except ValueError as error:
        raise NoCall(f"no JSON: {error}") from error
    return [_call(item, tools, cut=supplied) for item in (value if isinstance(value, list) else [value])]


def _call(value: Any, tools: DeclaredTools, *, cut: bool) -> ToolCall:
    if not isinstance(value, Mapping):
        raise NoCall("a value that is no object")
    inner = value.get("function")
    if isinstance(inner, Mapping):
        value = inner
    written = inner if isinstance(inner, str) else value.get("name")
    name = tools.find(written) if isinstance(written, str) else None
    if name is None:
        raise NoCall(f"no tool of the name {written!r}")
    return ToolCall(name, arguments_of(value, cut=cut))


def arguments_of(value: Mapping[str, Any], *, cut: bool = False) -> dict[str, object]:
    """What a call says its arguments are; `cut`: its end is missing. Raises NoCall."""
    key = next((key for key in _ARGUMENT_KEYS if key in value), None)
    if key is None and cut:
        raise NoCall("cut before its arguments")
    arguments: Any = value[key] if key is not None else None
    for _ in range(_MOST_LAYERS):
        if isinstance(arguments, str) and arguments.strip():
            arguments = _decoded(arguments)
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, dict):
        raise NoCall("arguments that are no object")
    return arguments


def _decoded(text: str) -> Any:
    try:
        value, supplied = read_json(text)
    except ValueError as error:
        raise NoCall(f"arguments that are no JSON: {error}") from error
    if supplied:
        raise NoCall("arguments that were cut")
    return value
