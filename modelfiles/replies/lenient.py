"""JSON as models write it: strictly where that works, else with a few repairs that cannot change a meaning.

Repaired, outside of strings only: trailing commas, comments, single quotes, True, False and None; inside of
strings: raw control characters and unknown escapes. The end of the outermost value, or of a list around one
object, may be missing. A value that was cut is never completed.
"""

import json
import re
from typing import Any, NoReturn

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"(true|false|null|True|False|None)(?!\w)")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_STRING = {quote: re.compile(rf"[^\\{quote}]*(?:\\.[^\\{quote}]*)*{quote}", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def read_json(text: str) -> tuple[Any, bool]:
    """The value of `text`, and whether its end had to be supplied. Raises ValueError."""
    try:
        return _whole(json.loads(text, parse_constant=_refuse)), False
    except (ValueError, RecursionError):
        return _Reader(text).read()


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _whole(value: Any) -> Any:
    """`value` with halves of surrogate pairs, which no text can hold, replaced."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


class _Reader:
    """Recursive descent over one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._supplied = False

    def read(self) -> tuple[Any, bool]:
        try:
            value = self._value(outer=True)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        self._skip()
        if self._at < len(self._text):
            raise ValueError(f"text follows the value: {self._text[self._at : self._at + 20]!r}")
        return _whole(value), self._supplied

    def _skip(self) -> str:
        """The next character that means something, or nothing at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _value(self, *, outer: bool = False) -> Any:
        char = self._skip()
        if char == "{":
            return self._object(outer=outer)
        if char == "[":
            return self._list(outer=outer)
        if char in _STRING:
            return self._string(char)
        return self._scalar()

    def _scalar(self) -> Any:
        if match := _WORD.match(self._text, self._at):
            self._at = match.end()
            return _WORDS[match[1]]
        match = _NUMBER.match(self._text, self._at)
        # A number at the very end may have been going on.
        if not match or match.end() == len(self._text):
            raise ValueError(f"no value at {self._text[self._at : self._at + 20]!r}")
        self._at = match.end()
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def _string(self, quote: str) -> str:
        match = _STRING[quote].match(self._text, self._at + 1)
        if not match:
            raise ValueError("a string does not end")
        self._at = match.end()
        return _ESCAPE.sub(_unescaped, match[0][:-1])

    def _object(self, *, outer: bool) -> dict[str, Any]:
        self._at += 1
        members: dict[str, Any] = {}
        while not self._ends("}", members, outer=outer):
            quote = self._skip()
            if quote not in _STRING:
                raise ValueError(f"no name at {self._text[self._at : self._at + 20]!r}")
            name = self._string(quote)
            if self._skip() != ":":
                raise ValueError(f"no value for {name!r}")
            self._at += 1
            members[name] = self._value()
            self._comma("}")
        return members

    def _list(self, *, outer: bool) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while not self._ends("]", items, outer=outer):
            # A list around one call counts as a wrapper, so the call's own end may be missing too.
            items.append(self._value(outer=outer and not items))
            self._comma("]")
        return items

    def _ends(self, closer: str, members: Any, *, outer: bool) -> bool:
        char = self._skip()
        if char == closer:
            self._at += 1
            return True
        if char == "" and outer and members:
            self._supplied = True
            return True
        return False

    def _comma(self, closer: str) -> None:
        char = self._skip()
        if char == ",":
            self._at += 1
        elif char not in (closer, ""):
            raise ValueError(f"no comma at {self._text[self._at : self._at + 20]!r}")


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)
