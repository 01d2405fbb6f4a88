"""The first JSON value of a text, read as Go reads it, with Go's words for what is wrong.

The slow and exact way: bodies are read by msgspec first, and only what that refuses, or what needs the
spelling of a number or the source of a value, comes here. Differences from Python's reader: what follows the
value is ignored, duplicate keys are kept in order, invalid UTF-8 and lone surrogates become U+FFFD, NaN is
refused, and nesting is bounded (Go allows 10,000 levels; no honest body comes near ours).

Bytes are looked at one to one, as Latin-1, since Go's messages name single bytes. Knows no request.
"""

from __future__ import annotations

import re

from shim.errors import ApiError, bad_request, go_quoted

MAX_DEPTH = 200

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"[0-9]+")
_HEX = "0123456789abcdefABCDEF"
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", '"': '"'}
_LITERALS: dict[str, tuple[str, bool | None]] = {
    "t": ("true", True),
    "f": ("false", False),
    "n": ("null", None),
}

MISSING_BODY = "missing request body"


class Sourced:
    """Where in the body a value stands; mixed into the types below."""

    span: tuple[str, int, int] = ("", 0, 0)

    @property
    def source(self) -> str:
        """The value as it was spelled."""
        text, start, end = self.span
        return text[start:end].encode("latin-1").decode("utf-8", "replace")


class Int(int, Sourced):
    """A whole number and its spelling."""


class Float(float, Sourced):
    """A number with a fraction or an exponent, and its spelling; infinite when out of range."""


class Text(str, Sourced):
    """A string and its spelling."""


class Array(list[object], Sourced):
    """A list and its source."""


class Object(dict[str, object], Sourced):
    """An object: the last value of each key, and `pairs` with every key as it came."""

    pairs: list[tuple[str, object]]


def scan(body: bytes) -> object:
    """The first value: None, bool, Int, Float, Text, Array or Object. ApiError with Go's text otherwise."""
    return _Scanner(body.decode("latin-1")).first()


class _Scanner:
    """A position in a text. Every method starts at its first character and leaves `at` behind its last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def first(self) -> object:
        if not self.peek():
            raise bad_request(MISSING_BODY)
        return self.value(0)

    def peek(self) -> str:
        """The next character that is no blank, or an empty string at the end."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def wrong(self, context: str) -> ApiError:
        """What Go says about the character here."""
        char = self.text[self.at : self.at + 1]
        if not char:
            return bad_request("unexpected EOF")
        quoted = {"'": "'\\''", '"': "'\"'"}.get(char) or f"'{go_quoted(char)[1:-1]}'"
        return bad_request(f"invalid character {quoted} {context}")

    def value(self, depth: int) -> object:
        char = self.peek()
        if char == '"':
            return self.string()
        if char in ("{", "["):
            if depth >= MAX_DEPTH:
                raise self.wrong("exceeded max depth")
            return self.mapping(depth + 1) if char == "{" else self.array(depth + 1)
        if char and char in "-0123456789":
            return self.number()
        if char in _LITERALS:
            return self.literal(*_LITERALS[char])
        raise self.wrong("looking for beginning of value")

    def mapping(self, depth: int) -> Object:
        start = self.at
        self.at += 1
        pairs: list[tuple[str, object]] = []
        if self.peek() == "}":
            self.at += 1
        else:
            while self.pair(pairs, depth):
                pass
        made = Object(pairs)
        made.pairs = pairs
        made.span = (self.text, start, self.at)
        return made

    def pair(self, pairs: list[tuple[str, object]], depth: int) -> bool:
        """Read `"key": value` and what follows it; False when that was the closing brace."""
        if self.peek() != '"':
            raise self.wrong("looking for beginning of object key string")
        key = str(self.string())
        if self.peek() != ":":
            raise self.wrong("after object key")
        self.at += 1
        pairs.append((key, self.value(depth)))
        return self.goes_on("}", "after object key:value pair")

    def array(self, depth: int) -> Array:
        start = self.at
        self.at += 1
        made = Array()
        if self.peek() == "]":
            self.at += 1
        else:
            made.append(self.value(depth))
            while self.goes_on("]", "after array element"):
                made.append(self.value(depth))
        made.span = (self.text, start, self.at)
        return made

    def goes_on(self, closing: str, context: str) -> bool:
        char = self.peek()
        if char not in (",", closing):
            raise self.wrong(context)
        self.at += 1
        return char == ","

    def string(self) -> Text:
        start = self.at
        self.at += 1
        pieces: list[str] = []
        while True:
            pieces.append(self.plain())
            if self.text[self.at : self.at + 1] == '"':
                break
            pieces.append(self.escape())
        self.at += 1
        joined = "".join(pieces)
        if len(pieces) > 1:
            # The halves of a surrogate pair may be written as two escapes; a half alone is replaced.
            joined = joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        made = Text(joined)
        made.span = (self.text, start, self.at)
        return made

    def plain(self) -> str:
        match = _PLAIN.match(self.text, self.at)
        end = match.end() if match else self.at
        piece = self.text[self.at : end].encode("latin-1").decode("utf-8", "replace")
        self.at = end
        if self.text[end : end + 1] not in ('"', "\\"):
            raise self.wrong("in string literal")
        return piece

    def escape(self) -> str:
        self.at += 1
        char = self.text[self.at : self.at + 1]
        if char in _ESCAPED:
            self.at += 1
            return _ESCAPED[char]
        if char != "u":
            raise self.wrong("in string escape code")
        self.at += 1
        return self.hexadecimal()

    def hexadecimal(self) -> str:
        start = self.at
        for _ in range(4):
            if self.at >= len(self.text) or self.text[self.at] not in _HEX:
                raise self.wrong("in \\u hexadecimal character escape")
            self.at += 1
        return chr(int(self.text[start : self.at], 16))

    def number(self) -> Int | Float:
        start = self.at
        match = _NUMBER.match(self.text, self.at)
        if match is None:  # only a minus sign goes without digits
            self.at += 1
            raise self.wrong("in numeric literal")
        self.at = match.end()
        self.check_number_end(match)
        spelling = self.text[start : self.at]
        made: Int | Float
        whole = match["fraction"] is None and match["exponent"] is None
        # A number too long for int's own limit is far beyond any integer that we read.
        made = Int(spelling) if whole and len(spelling) < 400 else Float(spelling)
        made.span = (self.text, start, self.at)
        return made

    def check_number_end(self, match: re.Match[str]) -> None:
        """The pattern stops before an unfinished fraction or exponent: name the character that is wrong."""
        rest = self.text[self.at : self.at + 2]
        if rest[:1] == "." and match["fraction"] is None and match["exponent"] is None:
            self.at += 1
            raise self.wrong("after decimal point in numeric literal")
        if rest[:1] in ("e", "E") and match["exponent"] is None:
            self.at += 2 if rest[1:] in ("+", "-") else 1
            raise self.wrong("in exponent of numeric literal")

    def literal(self, word: str, value: bool | None) -> bool | None:
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                raise self.wrong(f"in literal {word} (expecting '{expected}')")
            self.at += 1
        return value
