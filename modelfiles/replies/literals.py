"""Calls in Python's notation, `name(key=literal, …)`, read and never evaluated.

Literals of JSON count too: `true`, `false` and `null`. Strings may hold raw newlines, as models write them.
"""

import re
from typing import Any

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_KEY = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(\.\d*)?|(\.\d+))([eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"(?:True|False|None|true|false|null)(?!\w)")
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_PREFIX = re.compile(r"[rRuU]?(\"\"\"|'''|\"|')")
_ESCAPE = re.compile(
    r"\\(\r?\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|[0-7]{1,3}|.)",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v",
            "\\": "\\", "'": "'", '"': '"', "/": "/"}  # fmt: skip
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_MOST_NESTED = 64


class BadLiteral(ValueError):
    """No call, or one whose arguments are no literals; says what is wrong."""


class Unfinished(BadLiteral):
    """The text ends before the call does."""


class LiteralReader:
    """Reads from `at` on, and leaves the position there behind what it read."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def peek(self) -> str:
        """The next character that is no white space. Raises Unfinished."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.at == len(self.text):
            raise Unfinished("the call does not end")
        return self.text[self.at]

    def take(self, char: str) -> bool:
        """Whether `char` comes next; goes over it. Raises Unfinished."""
        found = self.peek() == char
        self.at += found
        return found

    def call(self) -> tuple[str, dict[str, object]]:
        """A name and its keyword arguments. Raises BadLiteral."""
        self.peek()
        match = _NAME.match(self.text, self.at)
        if not match:
            raise BadLiteral(f"no call at {self._here()}")
        if match.end() == len(self.text):
            raise Unfinished("a name at the end")
        self.at = match.end()
        if not self.take("("):
            raise BadLiteral(f"no parenthesis after {match[0]!r}")
        arguments: dict[str, object] = {}
        while not self.take(")"):
            arguments.update(self._argument())
            self._comma(")")
        return match[0], arguments

    def value(self, nested: int = 0) -> Any:
        """A literal; tuples become lists. Raises BadLiteral."""
        char = self.peek()
        if nested > _MOST_NESTED:
            raise BadLiteral("nested too deeply")
        if char in "[(":
            return self._list(_CLOSERS[char], nested)
        if char == "{":
            return self._dict(nested)
        if prefix := _PREFIX.match(self.text, self.at):
            return self._string(prefix)
        return self._scalar()

    def _argument(self) -> dict[str, object]:
        if self.text.startswith("**", self.at):
            self.at += 2
            value = self.value()
            if not isinstance(value, dict):
                raise BadLiteral("** before something that is no dictionary")
            return value
        match = _KEY.match(self.text, self.at)
        if not match:
            if re.fullmatch(r"\*|\w*\s*", self.text[self.at :]):
                raise Unfinished("the call does not end")
            raise BadLiteral(f"no keyword argument at {self._here()}")
        self.at = match.end()
        return {match[1]: self.value()}

    def _scalar(self) -> Any:
        if match := _WORD.match(self.text, self.at):
            self.at = match.end()
            return _WORDS[match[0]]
        match = _NUMBER.match(self.text, self.at)
        if not match:
            raise (Unfinished if re.fullmatch(r"[\w.+-]*", self.text[self.at :]) else BadLiteral)(
                f"no literal at {self._here()}"
            )
        self.at = match.end()
        written = match[0].replace("_", "")
        try:
            return float(written) if any(match.groups()) else int(written)
        except ValueError:  # more digits than Python converts
            raise BadLiteral("a number that is too long") from None

    def _string(self, prefix: re.Match[str]) -> str:
        quote, raw = prefix[1], prefix[0][0] in "rR"
        end = _string_end(self.text, prefix.end(), quote)
        if end < 0:
            raise Unfinished("a string does not end")
        self.at = end + len(quote)
        written = self.text[prefix.end() : end]
        text = written if raw else _ESCAPE.sub(_unescaped, written)
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _list(self, closer: str, nested: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while not self.take(closer):
            items.append(self.value(nested + 1))
            self._comma(closer)
        return items

    def _dict(self, nested: int) -> dict[str, Any]:
        self.at += 1
        members: dict[str, Any] = {}
        while not self.take("}"):
            key = self.value(nested + 1)
            if not isinstance(key, str) or not self.take(":"):
                raise BadLiteral("a dictionary whose keys are no strings")
            members[key] = self.value(nested + 1)
            self._comma("}")
        return members

    def _comma(self, closer: str) -> None:
        if not self.take(",") and self.peek() != closer:
            raise BadLiteral(f"no comma at {self._here()}")

    def _here(self) -> str:
        return repr(self.text[self.at : self.at + 20])


def _string_end(text: str, at: int, quote: str) -> int:
    pattern = re.compile(rf"\\|{quote}")
    while match := pattern.search(text, at):
        if match[0] == quote:
            return match.start()
        at = match.end() + 1
    return -1


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape.isdigit() and escape.isascii():
        return chr(int(escape, 8)) if set(escape) <= set("01234567") else match[0]
    if escape in ("\n", "\r\n"):
        return ""
    # As in Python, what is no escape stays as it is written.
    return _ESCAPES.get(escape, match[0])
