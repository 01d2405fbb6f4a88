"""`tools` and `tool_choice`: which tools there are, and whether one of them must be called. Pure.

`tool_choice` "none" leaves the tools out: a model that does not know of them writes no calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from modelfiles.messages import Tool
from shim.errors import bad_request
from shim.openai.messages import tools
from shim.requests import Forced


@dataclass(frozen=True, slots=True)
class Choice:
    """The tools of a request, and those of which one must be called."""

    tools: tuple[Tool, ...] = ()
    must_call: tuple[Forced, ...] = ()


def tool_choice(given: object, choice: object) -> Choice:
    """`given` are the tools of the body, each with its function under `function`. ApiError."""
    declared = tools(given)
    wanted = _wanted(choice)
    if wanted == "none":
        return Choice()
    if wanted == "auto":
        return Choice(declared)
    names = {tool.name for tool in declared}
    if isinstance(wanted, frozenset):
        if not wanted <= names:
            unknown = ", ".join(sorted(wanted - names))
            raise bad_request(f"tool_choice names no tool of this request: {unknown}")
        names = set(wanted)
    elif not declared:
        raise bad_request('tool_choice "required" needs tools')
    return Choice(declared, tuple(_forced(given, names)))


def _wanted(choice: object) -> str | frozenset[str]:
    """ "none", "auto", "required", or names."""
    if choice is None:
        return "auto"
    if isinstance(choice, str):
        if choice in ("none", "auto", "required"):
            return choice
        if choice == "any":
            return "required"
        raise bad_request(f"tool_choice {choice!r} is unknown; one of: none, auto, required, or a function")
    if isinstance(choice, Mapping):
        if choice.get("type") == "allowed_tools":
            return _allowed(choice)
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name:
            return frozenset((name,))
    raise bad_request("tool_choice must be none, auto, required, or an object with function.name")


def _allowed(choice: Mapping[str, object]) -> str | frozenset[str]:
    """A list of tools of which one may or must be called."""
    inner = choice.get("allowed_tools", choice)
    if not isinstance(inner, Mapping) or inner.get("mode") != "required":
        return "auto"
    listed = inner.get("tools")
    functions = [item.get("function", item) for item in listed] if isinstance(listed, list) else []
    return frozenset(str(function.get("name", "")) for function in functions) or "required"


def _forced(given: object, names: set[str]) -> Iterable[Forced]:
    for item in given if isinstance(given, list) else []:
        function = item.get("function")
        if isinstance(function, Mapping) and function.get("name") in names:
            schema = function.get("parameters")
            yield Forced(str(function["name"]), schema if isinstance(schema, Mapping) else {})
