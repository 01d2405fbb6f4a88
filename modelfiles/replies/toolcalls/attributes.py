"""XML with names in attributes: MiniMax M2, DeepSeek V3.2 and V4, Step 3, MiniCPM 5 and others.

Values are written as they are; the schema, or an attribute, says what they mean. A closing tag inside a value
counts only where a parameter, the call's end or nothing follows.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from modelfiles.replies.argument_types import Schema, typed
from modelfiles.replies.buffered import Found, Grammar, style
from modelfiles.replies.cursor import Cursor, Cut, More, Unended
from modelfiles.replies.json_calls import NoCall, calls_in
from modelfiles.replies.lenient import read_json

_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LONGEST_TAG = 400
_CDATA = ("<![CDATA[", "]]>")
_WRAPPERS = ("arguments", "input")


@dataclass(frozen=True, slots=True)
class Tags:
    """Opening tags without what follows their names. `between` may stand around calls and says nothing."""

    section: tuple[str, ...]
    section_end: tuple[str, ...]
    call: str = "<invoke"
    call_end: str = "</invoke>"
    parameter: str = "<parameter"
    parameter_end: str = "</parameter>"
    between: tuple[str, ...] = ()
    unwraps: bool = False  # whether one parameter may hold all arguments
    json: bool = False  # whether the section may hold JSON instead

    @property
    def next(self) -> tuple[str, ...]:
        return (self.parameter, self.call_end)


def grammar(tags: Tags) -> Grammar:
    """A section of calls; without its opening tag, calls of declared tools one by one."""

    def read(found: Found) -> None:
        cursor = found.cursor
        sectioned = bool(tags.section) and cursor.take(*tags.section) is not None
        _json(found, tags)
        while True:
            before = cursor.at
            cursor.space()
            while tags.between and cursor.take(*tags.between) is not None:
                cursor.space()
            found.begin()
            if sectioned and cursor.take_end(*tags.section_end):
                return
            if cursor.sees((tags.call,)) is None:
                cursor.at = before
                return
            _call(found, tags, sectioned=sectioned)
            if not sectioned:
                return

    return read


def _json(found: Found, tags: Tags) -> None:
    cursor = found.cursor
    before = cursor.at
    cursor.space()
    if not tags.json or cursor.next() not in ("{", "["):
        cursor.at = before
        return
    found.begin()
    written = cursor.json()
    try:
        found.calls += calls_in(written, found.tools)
    except NoCall as error:
        found.fail(str(error))


def _call(found: Found, tags: Tags, *, sectioned: bool) -> None:
    cursor = found.cursor
    written = _tag(cursor, tags.call).get("name", "")
    name = found.tools.find(written)
    if name is None and not sectioned:
        raise Cut(f"no tool of the name {written!r}")
    properties = found.tools.properties(name) if name else {}
    schema = found.tools.schema(name) if name else {}
    arguments: dict[str, object] = {}
    while True:
        cursor.space()
        if cursor.sees((tags.parameter,)) is None:
            break
        attributes = _tag(cursor, tags.parameter)
        key = attributes.get("name", "").strip()
        text = _value(cursor, tags, set(properties) - {*arguments, key})
        arguments.setdefault(key, _meant(text, attributes, properties.get(key), schema, tags))
    if not cursor.take_end(tags.call_end) and cursor.sees(tags.section_end or ("\0",)) is None:
        raise Cut("text between the parameters")
    found.call(written, _unwrapped(arguments, properties) if tags.unwraps else arguments)


def _tag(cursor: Cursor, literal: str) -> dict[str, str]:
    """Goes over an opening tag. Its attributes."""
    start = cursor.at
    end = cursor.text.find(">", start)
    if (end if end >= 0 else len(cursor.text)) - start > _LONGEST_TAG:
        raise Cut("a tag that is too long")
    if end < 0:
        raise Unended("a tag does not end") if cursor.final else More
    cursor.at = end + 1
    found = _ATTRIBUTE.finditer(cursor.text, start + len(literal), end)
    return {match[1]: next((part for part in match.groups()[1:] if part is not None), "") for match in found}


def _value(cursor: Cursor, tags: Tags, expected: Collection[str]) -> str:
    start = at = cursor.at
    while True:
        end = cursor.find(tags.parameter_end, start=at)
        missing = _next_parameter(cursor, tags, at, end, expected)
        if missing >= 0:
            cursor.at = missing
            return cursor.text[start:missing]
        if end < 0:
            return _open_value(cursor, tags, start)
        at = cursor.at = end + len(tags.parameter_end)
        cursor.space()
        if (cursor.final and cursor.at == len(cursor.text)) or _follows(cursor, tags):
            return cursor.text[start:end]


def _follows(cursor: Cursor, tags: Tags) -> bool:
    before = cursor.at
    if cursor.sees((*tags.next, *tags.section_end)) is not None:
        return True
    cut = cursor.take_end(*tags.next)
    cursor.at = before
    return cut


def _next_parameter(cursor: Cursor, tags: Tags, start: int, end: int, expected: Collection[str]) -> int:
    """Where an expected parameter begins before `end`, because a closing tag was left out; -1 for nowhere."""
    stop = end if end >= 0 else len(cursor.text)
    at = start
    while (at := cursor.text.find(tags.parameter, at, stop)) >= 0:
        match = _ATTRIBUTE.search(cursor.text, at + len(tags.parameter), min(stop, at + _LONGEST_TAG))
        name = next((part for part in match.groups()[1:] if part), "") if match else ""
        if match and match[1] == "name" and name in expected:
            return at
        at += len(tags.parameter)
    return -1


def _open_value(cursor: Cursor, tags: Tags, start: int) -> str:
    """A value without its closing tag, at the end of everything: it ends where the call does."""
    end = cursor.text.rfind(tags.call_end, start)
    rest = cursor.text[end + len(tags.call_end) :].strip()
    if end < 0 or (rest and not any(mark.startswith(rest) for mark in tags.section_end)):
        raise Unended("a value does not end")
    cursor.at = end
    return cursor.text[start:end]


def _meant(
    text: str, attributes: Mapping[str, str], schema: Schema | None, root: Schema, tags: Tags
) -> object:
    if text.strip().startswith(_CDATA[0]) and text.strip().endswith(_CDATA[1]):
        text = text.strip()[len(_CDATA[0]) : -len(_CDATA[1])]
    if attributes.get("string") == "true":
        return text
    if attributes.get("string") == "false":
        try:
            value, supplied = read_json(text)
        except ValueError:
            return text
        return text if supplied else value
    return typed(text, schema, root)


def _unwrapped(arguments: dict[str, object], properties: Collection[str]) -> dict[str, object]:
    """All arguments as one object in a parameter of that name, where all of its keys are declared."""
    [key, *others] = arguments or [""]
    value = arguments.get(key)
    if isinstance(value, str):
        try:
            value, _ = read_json(value)
        except ValueError:
            return arguments
    fits = key in _WRAPPERS and key not in properties and not others
    return value if fits and isinstance(value, dict) and value.keys() <= set(properties) else arguments


def _prefixed(prefix: str, sections: tuple[str, ...]) -> Tags:
    """Tags that all begin with the same letters, as `<｜DSML｜invoke`."""
    return Tags(
        tuple(f"<{prefix}{section}>" for section in sections),
        tuple(f"</{prefix}{section}>" for section in sections),
        f"<{prefix}invoke",
        f"</{prefix}invoke>",
        f"<{prefix}parameter",
        f"</{prefix}parameter>",
        unwraps=True,
    )


_MINIMAX = Tags(("<minimax:tool_call>",), ("</minimax:tool_call>",))
_MINICPM = Tags((), (), "<function", "</function>", "<param", "</param>")
_DOTS = Tags(("<dots_function_call>",), ("</dots_function_call>",), json=True)
_STEP = Tags(
    ("<｜tool_calls_begin｜>",),
    ("<｜tool_calls_end｜>",),
    "<steptml:invoke",
    "</steptml:invoke>",
    "<steptml:parameter",
    "</steptml:parameter>",
    ("<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>", "function"),
)
_DSML = _prefixed("｜DSML｜", ("function_calls", "tool_calls", " calls", "calls"))
_GCML = _prefixed("｜GCML｜", ("tool_calls", "function_calls"))


STYLES = tuple(
    style(
        name,
        tags.section or (f"{tags.call} name=",),
        grammar(tags),
        (*tags.section_end, tags.call_end),
        line_markers=line_markers,
    )
    for name, tags, line_markers in (
        ("minimax_m2", _MINIMAX, ("<invoke name=",)),
        ("minicpm5", _MINICPM, ()),
        ("step3", _STEP, ()),
        ("deepseek_v32", _DSML, ()),
        ("deepseek_v4", _DSML, ()),
        ("gigachat35", _GCML, ()),
        ("dots", _DOTS, ("<invoke name=",)),
    )
)
