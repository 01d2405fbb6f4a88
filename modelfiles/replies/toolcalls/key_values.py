"""A name, then keys and values between tags: GLM 4.5 and later, Laguna, Ling, Hunyuan 3, Solar Open 2.

Values are written as they are; the tool's schema says what they mean. A value may quote the tags: it ends at
the closing tag after which a key, the call's end or nothing follows.
"""

import re
from dataclasses import dataclass

from modelfiles.replies.argument_types import typed
from modelfiles.replies.buffered import Found, Grammar, style
from modelfiles.replies.cursor import Cursor, Cut, More, Unended
from modelfiles.replies.json_calls import NoCall, calls_in

_LONGEST_NAME = 200
_PROSE = re.compile(r"\S+[ \t]+[^\s<]")


@dataclass(frozen=True, slots=True)
class Tags:
    """Each in all its spellings. `after_name` and the section's may be missing from a reply."""

    call: tuple[str, ...]
    end: tuple[str, ...]
    key: tuple[str, ...]
    key_end: tuple[str, ...]
    value: tuple[str, ...]
    value_end: tuple[str, ...]
    after_name: tuple[str, ...] = ("\0",)
    section: tuple[str, ...] = ()
    section_end: tuple[str, ...] = ()
    type: str = ""  # of the value, between key and value; only the schema counts
    type_end: str = ""

    @property
    def follow_value(self) -> tuple[str, ...]:
        return (*self.key, *self.end)


def grammar(tags: Tags) -> Grammar:
    """One call; or a section of calls, where the family has one."""

    def read(found: Found) -> None:
        cursor = found.cursor
        sectioned = cursor.take(*tags.section) is not None if tags.section else False
        while True:
            before = cursor.at
            cursor.space()
            found.begin()
            if sectioned and (found.calls or found.failed) and cursor.take_end(*tags.section_end):
                return
            if cursor.take(*tags.call) is None:
                cursor.at = before
                return
            _call(found, tags)
            if not sectioned:
                return

    return read


def _call(found: Found, tags: Tags) -> None:
    cursor = found.cursor
    cursor.space()
    if cursor.next() in ("{", "["):
        _json(found, tags)
        return
    name = _name(found, tags)
    tool = found.tools.find(name)
    properties = found.tools.properties(tool) if tool else {}
    schema = found.tools.schema(tool) if tool else {}
    arguments: dict[str, object] = {}
    while True:
        cursor.space()
        if cursor.take(*tags.key) is None:
            break
        key = _key(found, tags)
        value = _value(found, tags, {*arguments, key}, set(properties))
        arguments.setdefault(key, typed(value, properties.get(key), schema))
    if not cursor.take_end(*tags.end):
        raise Cut("text between the arguments")
    found.call(name, arguments)


def _json(found: Found, tags: Tags) -> None:
    """Hermes' way between these tags."""
    cursor = found.cursor
    written = cursor.json()
    cursor.space()
    cursor.take_end(*tags.end)
    try:
        found.calls += calls_in(written, found.tools)
    except NoCall as error:
        found.fail(str(error))


def _name(found: Found, tags: Tags) -> str:
    """Up to the first tag or the end of the line. What follows must be a tag."""
    cursor = found.cursor
    stops = (*tags.after_name, *tags.key, *tags.end, "\n")
    ends = [at for stop in stops if (at := cursor.text.find(stop, cursor.at)) >= 0]
    end = min(ends, default=len(cursor.text))
    prose = _PROSE.match(cursor.text, cursor.at, end)
    if end - cursor.at > _LONGEST_NAME or prose:
        raise Cut("no name follows the tag")
    if not ends and not cursor.final:
        raise More
    name = cursor.text[cursor.at : end]
    where = cursor.at
    cursor.at = end
    cursor.take(*tags.after_name)
    cursor.space()
    if not name.strip() or not ((cursor.final and cursor.ended) or cursor.sees(tags.follow_value)):
        cursor.at = where
        raise Cut("no name and arguments follow the tag")
    if not ends and (found.tools.find(name) is None or found.tools.longer(name)):
        raise Unended("the name may have been cut")
    return name


def _key(found: Found, tags: Tags) -> str:
    cursor = found.cursor
    end = cursor.find(*tags.key_end, *tags.value)
    if end < 0:
        raise Unended("an argument's name does not end")
    key = cursor.text[cursor.at : end]
    cursor.at = end
    cursor.take(*tags.key_end)
    cursor.space()
    if tags.type and cursor.take(tags.type):
        cursor.at = max(cursor.find(tags.type_end), cursor.at)
        cursor.take(tags.type_end)
        cursor.space()
    if cursor.take(*tags.value) is None:
        if cursor.final and cursor.at >= len(cursor.text):
            raise Unended("an argument without a value")
        raise Cut("an argument without a value")
    return key.strip()


def _value(found: Found, tags: Tags, given: set[str], declared: set[str]) -> str:
    cursor = found.cursor
    start = at = cursor.at
    while True:
        end = cursor.find(*tags.value_end, start=at)
        missing = _next_key(cursor, tags, at, end, declared - given)
        if missing >= 0:
            cursor.at = missing
            return cursor.text[start:missing]
        if end < 0:
            return _open_value(cursor, tags, start)
        cursor.at = end
        cursor.take(*tags.value_end)
        at = cursor.at
        cursor.space()
        if (cursor.final and cursor.at == len(cursor.text)) or _ends_value(cursor, tags):
            return cursor.text[start:end]


def _ends_value(cursor: Cursor, tags: Tags) -> bool:
    """Whether a key or the end of the call comes here, or the beginning of one where all ends."""
    before = cursor.at
    if cursor.sees(tags.follow_value) is not None:
        return True
    cut = cursor.take_end(*tags.follow_value)
    cursor.at = before
    return cut


def _next_key(cursor: Cursor, tags: Tags, start: int, end: int, expected: set[str]) -> int:
    """Where an expected key begins before `end`, because a closing tag was left out; -1 for nowhere."""
    stop = end if end >= 0 else len(cursor.text)
    for tag in tags.key:
        at = start
        while (at := cursor.text.find(tag, at, stop)) >= 0:
            behind = at + len(tag)
            ends = [found for mark in tags.key_end if (found := cursor.text.find(mark, behind, stop)) >= 0]
            if ends and cursor.text[behind : min(ends)].strip() in expected:
                return at
            at = behind
    return -1


def _open_value(cursor: Cursor, tags: Tags, start: int) -> str:
    """A value without its closing tag, at the end of everything: it ends where the call ends."""
    text = cursor.text.rstrip()
    for tag in tags.end:
        if text.endswith(tag) and len(text) - len(tag) >= start:
            cursor.at = len(text) - len(tag)
            return text[start : cursor.at]
    raise Unended("a value does not end")


def _tags(text: str, *, suffix: bool = False) -> tuple[str, ...]:
    spellings = tuple(text.split())
    return (*spellings, *(tag.replace(">", ":opensource>") for tag in spellings)) if suffix else spellings


_GLM = Tags(
    ("<tool_call>",),
    ("</tool_call>",),
    ("<arg_key>",),
    ("</arg_key>",),
    ("<arg_value>",),
    ("</arg_value>",),
)
_HUNYUAN = Tags(
    call=_tags("<tool_call>", suffix=True),
    end=_tags("</tool_call>", suffix=True),
    key=_tags("<arg_key>", suffix=True),
    key_end=_tags("</arg_key>", suffix=True),
    value=_tags("<arg_value>", suffix=True),
    value_end=_tags("</arg_value>", suffix=True),
    after_name=_tags("<tool_sep>", suffix=True),
    section=_tags("<tool_calls>", suffix=True),
    section_end=_tags("</tool_calls>", suffix=True),
)
_HORIZON = Tags(
    call=("<ifm|tool_call>",),
    end=("</ifm|tool_call>",),
    key=("<ifm|arg_key>",),
    key_end=("</ifm|arg_key>",),
    value=("<ifm|arg_value>",),
    value_end=("</ifm|arg_value>",),
    section=("<ifm|tool_calls>",),
    section_end=("</ifm|tool_calls>",),
    type="<ifm|arg_type>",
    type_end="</ifm|arg_type>",
)
_SOLAR = Tags(
    call=("<|tool_call:start|>",),
    end=("<|tool_call:end|>",),
    key=("<|tool_arg:start|>",),
    key_end=("\0",),
    value=("<|tool_arg:value|>",),
    value_end=("<|tool_arg:end|>",),
)

STYLES = tuple(
    style(name, (*tags.section, *tags.call), grammar(tags), (*tags.section_end, *tags.end))
    for name, tags in (
        ("glm45", _GLM),
        ("glm47", _GLM),
        ("poolside_v1", _GLM),
        ("ling3", _GLM),
        ("spark25", _GLM),
        ("hy_v3", _HUNYUAN),
        ("k2_horizon", _HORIZON),
        ("solar_open2", _SOLAR),
    )
)
