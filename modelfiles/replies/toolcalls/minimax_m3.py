"""Elements whose names are the arguments', nested where the values are: MiniMax M3.

Every tag has a prefix, so that values may hold any other markup. Leaves are typed by the tool's schema.
"""

import re
from collections.abc import Mapping
from typing import Any

from modelfiles.replies.argument_types import Schema, typed
from modelfiles.replies.buffered import Found, read_section, style
from modelfiles.replies.cursor import Cursor, Cut, More, Unended

_PREFIX = "]<]minimax[>["
_SECTION, _SECTION_END = f"{_PREFIX}<tool_call>", f"{_PREFIX}</tool_call>"
_INVOKE, _INVOKE_END = f"{_PREFIX}<invoke", f"{_PREFIX}</invoke>"
_OPENING = re.compile(re.escape(_PREFIX) + r"<([^<>/\s]+)[^<>]*>")
_NAME = re.compile(r"""\s+name\s*=\s*["']?([^"'>]+)["']?\s*>""")
_MOST_NESTED = 32
_LONGEST_TAG = 400


def _read(found: Found) -> None:
    read_section(found, (_SECTION, _SECTION_END), _INVOKE, _call)


def _call(found: Found) -> None:
    cursor = found.cursor
    match = _NAME.match(cursor.text, cursor.at)
    if match is None:
        long = len(cursor.text) - cursor.at > _LONGEST_TAG or ">" in cursor.text[cursor.at :]
        if long:
            raise Cut("a call without a name")
        raise Unended("a tag does not end") if cursor.final else More
    cursor.at = match.end()
    name = found.tools.find(match[1])
    schema = found.tools.schema(name) if name else {}
    value = _children(cursor, schema, schema, _INVOKE_END, 0)
    found.call(match[1], value if isinstance(value, dict) else {})


def _children(cursor: Cursor, schema: Schema, root: Schema, end: str, nested: int) -> Any:
    """Elements up to `end`, which is gone over: members, or items of a list."""
    if nested > _MOST_NESTED:
        raise Cut("nested too deeply")
    members: dict[str, Any] = {}
    items: list[Any] = []
    while True:
        cursor.space()
        if cursor.take_end(end):
            break
        match = _OPENING.match(cursor.text, cursor.at)
        if match is None:
            if not cursor.final and len(cursor.text) - cursor.at < _LONGEST_TAG:
                raise More
            raise Cut("text between the arguments")
        cursor.at = match.end()
        name = match[1]
        inner = _schema_of(name, schema, is_item=name == "item" and not members)
        value = _value(cursor, inner, root, f"{_PREFIX}</{name}>", nested + 1)
        if name == "item" and "item" not in _mapping(schema.get("properties")):
            items.append(value)
        else:
            members.setdefault(name, value)
    return items if items and not members else members


def _value(cursor: Cursor, schema: Schema, root: Schema, end: str, nested: int) -> Any:
    """Elements, or text up to `end`."""
    before = cursor.at
    cursor.space()
    if cursor.sees((_PREFIX,)) is not None:
        if cursor.sees((end,)) is None:
            return _children(cursor, schema, root, end, nested)
        empties: dict[str, Any] = {"object": {}, "array": []}
        empty = empties.get(str(schema.get("type")))
        if empty is not None:
            cursor.take(end)
            return empty
    cursor.at = before
    found = cursor.find(end)
    if found < 0:
        raise Unended("a value does not end")
    text = cursor.text[before:found]
    cursor.at = found + len(end)
    return typed(text, schema, root)


def _schema_of(name: str, schema: Schema, *, is_item: bool) -> Schema:
    properties = _mapping(schema.get("properties"))
    if is_item and name not in properties:
        return _mapping(schema.get("items"))
    return _mapping(properties.get(name))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


STYLE = style("minimax_m3", (_SECTION, _INVOKE), _read, (_SECTION_END, _INVOKE_END))
