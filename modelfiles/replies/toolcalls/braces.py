"""`call:NAME{key:value,…}` between marks: FunctionGemma and Gemma 4.

Texts stand between two marks of their own and may hold anything else; keys are bare. Models drift: quotes
instead of the marks, parentheses for the braces, a missing `call`. Bare text is typed by the tool's schema.
"""

import re
from dataclasses import dataclass
from typing import Any

from modelfiles.replies.argument_types import typed
from modelfiles.replies.buffered import Found, Grammar, style
from modelfiles.replies.cursor import Cut, More, Unended

_HEAD = re.compile(r"(?:call)?\s*:\s*([\w.-]+)\s*([{(])")
_HEAD_BEGUN = re.compile(r"(?:c|ca|cal|call)?\s*(?::\s*[\w.-]*\s*)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_KEY = re.compile(r"\s*([^\s:={}\[\]\"',<]+)\s*[:=]")
_BARE = re.compile(r"[^,}\])]*")
_STRING = {quote: re.compile(rf"[^\\{quote}]*(?:\\.[^\\{quote}]*)*{quote}", re.DOTALL) for quote in "\"'"}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_MOST_NESTED = 64


class _Bare(str):
    """Text that stood there without marks, so that the schema may type it."""


class _Short(Exception):
    """The text ends too early."""


class _Wrong(Exception):
    """No such value; says why."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Around the call, around texts, and what may stand behind the call and says nothing."""

    open: str
    close: str
    quote: str
    behind: tuple[str, ...] = ()


class _Values:
    """Reads values from `at` on."""

    def __init__(self, text: str, at: int, quote: str) -> None:
        self.text = text
        self.at = at
        self._quote = quote

    def members(self, closer: str, nested: int = 0) -> dict[str, Any]:
        """Keys and values up to `closer`, which is gone over. The first value of a key counts."""
        members: dict[str, Any] = {}
        while not self._take(closer):
            key = self._key()
            value = self._value(nested + 1)
            members.setdefault(key, value)
            self._comma(closer)
        return members

    def _peek(self) -> str:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        if self.at >= len(self.text):
            raise _Short
        return self.text[self.at]

    def _take(self, char: str) -> bool:
        found = self._peek() == char
        self.at += found
        return found

    def _comma(self, closer: str) -> None:
        if not self._take(",") and self._peek() != closer:
            raise _Wrong("no comma between values")

    def _key(self) -> str:
        text = self._text()
        if text is not None:
            if not (self._take(":") or self._take("=")):
                raise _Wrong("no value after a key")
            return text
        match = _KEY.match(self.text, self.at)
        if not match:
            # A key may still be going on.
            raise _Short if not re.search(r"[{}\[\],]", self.text[self.at :]) else _Wrong("no key")
        self.at = match.end()
        return match[1]

    def _text(self) -> str | None:
        """A text between marks or quotes, if one begins here."""
        self._peek()
        if self.text.startswith(self._quote, self.at):
            return self._marked()
        if self._quote.startswith(self.text[self.at :]):
            raise _Short
        quote = self.text[self.at]
        if quote not in _STRING:
            return None
        match = _STRING[quote].match(self.text, self.at + 1)
        if not match:
            raise _Short
        self.at = match.end()
        return re.sub(r"\\(.)", _unescaped, match[0][:-1], flags=re.DOTALL)

    def _marked(self) -> str:
        start = self.at + len(self._quote)
        end = self.text.find(self._quote, start)
        if end < 0:
            raise _Short
        self.at = end + len(self._quote)
        return self.text[start:end]

    def _value(self, nested: int) -> Any:
        if nested > _MOST_NESTED:
            raise _Wrong("nested too deeply")
        text = self._text()
        if text is not None:
            return text
        if self._take("{"):
            return self.members("}", nested)
        if self._take("["):
            return self._items(nested)
        match = _BARE.match(self.text, self.at)
        if not match or match.end() == len(self.text):
            raise _Short
        self.at = match.end()
        return _scalar(match[0].strip())

    def _items(self, nested: int) -> list[Any]:
        items: list[Any] = []
        while not self._take("]"):
            items.append(self._value(nested + 1))
            self._comma("]")
        return items


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    try:
        if number:
            return float(text) if number[1] or number[2] else int(text)
    except ValueError:  # more digits than Python converts
        return text
    if not text:
        raise _Wrong("no value")
    return _Bare(text)


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1])


def grammar(marks: Marks) -> Grammar:
    """One call between the marks, of which the last may be missing at the end."""

    def read(found: Found) -> None:
        cursor = found.cursor
        cursor.take(marks.open)
        cursor.space()
        head = _HEAD.match(cursor.text, cursor.at)
        if head is None:
            if _HEAD_BEGUN.fullmatch(cursor.text, cursor.at):
                raise Unended("the call does not begin") if cursor.final else More
            raise Cut("no call follows the mark")
        values = _Values(cursor.text, head.end(), marks.quote)
        members: dict[str, Any] | None
        try:
            members = values.members("}" if head[2] == "{" else ")")
        except _Short:
            if not cursor.final:
                raise More from None
            members = _repaired(found, marks, head, len(cursor.text))
        except _Wrong as error:
            members = _repaired(found, marks, head, values.at)
            if members is None:
                raise Cut(str(error)) from error
        else:
            cursor.at = values.at
        if members is None:
            raise Unended("the call does not end")
        _closed(found, marks)
        found.call(head[1], _typed(found, head[1], members))

    return read


def _repaired(found: Found, marks: Marks, head: re.Match[str], limit: int) -> dict[str, Any] | None:
    """A text whose second mark was left out before the last brace; None where more than that is wrong."""
    cursor = found.cursor
    end = cursor.text.find("}" + marks.close, head.end(), limit)
    body = cursor.text[head.end() : end] + marks.quote
    if end < 0 or body.count(marks.quote) % 2 == 1:
        return None
    try:
        members = _Values(body + "}", 0, marks.quote).members("}")
    except (_Short, _Wrong):
        return None
    cursor.at = end + 1
    return members


def _closed(found: Found, marks: Marks) -> None:
    cursor = found.cursor
    before = cursor.at
    cursor.space()
    if not cursor.take_end(marks.close):
        cursor.at = before
        return
    while True:
        before = cursor.at
        cursor.space()
        if cursor.take(marks.close, *marks.behind) is None:
            cursor.at = before
            return


def _typed(found: Found, written: str, members: dict[str, Any]) -> dict[str, object]:
    name = found.tools.find(written)
    properties = found.tools.properties(name) if name else {}
    schema = found.tools.schema(name) if name else {}
    return {
        key: typed(str(value), properties.get(key), schema) if isinstance(value, _Bare) else _plain(value)
        for key, value in members.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, _Bare):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


_FUNCTION = Marks("<start_function_call>", "<end_function_call>", "<escape>", ("<start_function_response>",))
_GEMMA = Marks("<|tool_call>", "<tool_call|>", '<|"|>', ("<|tool_response>",))

STYLES = (
    style("functiongemma", (_FUNCTION.open,), grammar(_FUNCTION), (_FUNCTION.close,)),
    style("gemma4", (_GEMMA.open,), grammar(_GEMMA), (_GEMMA.close,)),
)
