"""Cuts a Go template into tokens; white space around trim markers is gone, and so are comments.

A fault ends the list with a token of its own: what stands before it is still read, and may be wrong first.
Positions count characters. Knows nothing of the grammar.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from modelfiles.templates.go.quoting import code_point, quoted

SPACES = " \t\r\n"
DIGITS = tuple("0123456789")
KEYWORDS = frozenset(
    ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"]
)

_CLOSE = re.compile(r"(?:[ \t\r\n]-)?\}\}")
_OPEN = re.compile(r"\{\{(-[ \t\r\n])?")
_COMMENT_END = re.compile(r"\*/(?:(?:[ \t\r\n]-)?\}\})?")
_SPACE = re.compile(f"[{SPACES}]+")
_QUOTED = {
    '"': (re.compile(r'"(?:\\[^\n]|[^"\\\n])*"'), "unterminated quoted string"),
    "`": (re.compile(r"`[^`]*`"), "unterminated raw quoted string"),
    "'": (re.compile(r"'(?:\\[^\n]|[^'\\\n])*'"), "unterminated character constant"),
}
# More than Go's numbers: what is wrong with one is said when its value is worked out.
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)
_BEHIND_A_NAME = SPACES + ".,|:)("


class Kind(Enum):
    """What a piece of a template is."""

    TEXT = auto()
    OPEN = auto()
    CLOSE = auto()
    SPACE = auto()
    PIPE = auto()
    LEFT_PAREN = auto()
    RIGHT_PAREN = auto()
    ASSIGN = auto()
    DECLARE = auto()
    CHARACTER = auto()  # any other, which only a comma may be
    STRING = auto()
    RAW_STRING = auto()
    RUNE = auto()
    NUMBER = auto()
    COMPLEX = auto()
    BOOL = auto()
    NIL = auto()
    DOT = auto()
    FIELD = auto()
    VARIABLE = auto()
    IDENTIFIER = auto()
    KEYWORD = auto()
    END = auto()
    FAULT = auto()


_SIGNS = {"=": Kind.ASSIGN, "|": Kind.PIPE, "(": Kind.LEFT_PAREN, ")": Kind.RIGHT_PAREN}
_QUOTED_KINDS = {'"': Kind.STRING, "`": Kind.RAW_STRING, "'": Kind.RUNE}
_WORDS = {"true": Kind.BOOL, "false": Kind.BOOL, "nil": Kind.NIL}


@dataclass(frozen=True, slots=True)
class Token:
    """`text` as it stands in the template; that of a fault says what is wrong. `line` counts from 1."""

    kind: Kind
    text: str
    position: int
    line: int

    def __str__(self) -> str:
        """As error messages name it."""
        match self.kind:
            case Kind.END:
                return "EOF"
            case Kind.FAULT:
                return self.text
            case Kind.KEYWORD | Kind.NIL | Kind.DOT:
                return f"<{self.text}>"
        return f"{quoted(self.text[:10])}..." if len(self.text.encode()) > 10 else quoted(self.text)


class _Fault(Exception):
    """What is wrong where the current token began."""


def tokenize(text: str) -> list[Token]:
    """All tokens; the last one is the end of the text or a fault."""
    return _Lexer(text).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # where the next token begins
        self._line = 1
        self._parens = 0
        self._tokens: list[Token] = []

    def run(self) -> list[Token]:
        try:
            while self._text_up_to_action():
                while self._part_of_action():
                    pass
        except _Fault as fault:
            self._tokens.append(Token(Kind.FAULT, str(fault), self._at, self._line))
        return self._tokens

    def _emit(self, kind: Kind, end: int) -> None:
        self._tokens.append(Token(kind, self._text[self._at : end], self._at, self._line))
        self._skip_to(end)

    def _skip_to(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _text_up_to_action(self) -> bool:
        """Whether there is an action; at the end there is none."""
        while opening := _OPEN.search(self._text, self._at):
            self._plain_text(opening.start(), trim=bool(opening[1]))
            if not self._text.startswith("/*", opening.end()):
                self._emit(Kind.OPEN, self._at + 2)
                self._skip_to(opening.end())
                self._parens = 0
                return True
            self._skip_to(opening.end())
            self._comment()
        self._plain_text(len(self._text), trim=False)
        self._tokens.append(Token(Kind.END, "", self._at, self._line))
        return False

    def _plain_text(self, end: int, *, trim: bool) -> None:
        kept = self._text[self._at : end]
        kept = kept.rstrip(SPACES) if trim else kept
        if kept:
            self._emit(Kind.TEXT, self._at + len(kept))
        self._skip_to(end)

    def _comment(self) -> None:
        end = _COMMENT_END.search(self._text, self._at + 2)
        if end is None:
            raise _Fault("unclosed comment")
        if not end[0].endswith("}}"):
            raise _Fault("comment ends before closing delimiter")
        self._skip_to(end.end())
        self._trim("-" in end[0])

    def _trim(self, wanted: bool) -> None:
        if wanted and (spaces := _SPACE.match(self._text, self._at)):
            self._skip_to(spaces.end())

    def _part_of_action(self) -> bool:
        """Take one token; whether the action goes on."""
        if closing := _CLOSE.match(self._text, self._at):
            if self._parens:
                raise _Fault("unclosed left paren")
            self._skip_to(closing.end() - 2)
            self._emit(Kind.CLOSE, closing.end())
            self._trim("-" in closing[0])
            return False
        if self._at == len(self._text):
            raise _Fault("unclosed action")
        self._token(self._text[self._at])
        return True

    def _token(self, char: str) -> None:
        if char in SPACES:
            self._spaces()
        elif char in _QUOTED:
            self._quoted(char)
        elif char == "$":
            self._name(Kind.VARIABLE, bare=Kind.VARIABLE)
        elif char == "." and self._text[self._at + 1 : self._at + 2] not in ("", *DIGITS):
            self._name(Kind.FIELD, bare=Kind.DOT)
        elif char in "+-." or char in DIGITS:
            self._number()
        elif _is_alphanumeric(char):
            self._word()
        else:
            self._sign(char)

    def _spaces(self) -> None:
        found = _SPACE.match(self._text, self._at)
        end = found.end() if found else self._at
        # The last blank may belong to a trim marker.
        self._emit(Kind.SPACE, end - 1 if _CLOSE.match(self._text, end - 1) else end)

    def _quoted(self, char: str) -> None:
        pattern, complaint = _QUOTED[char]
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _Fault(complaint)
        self._emit(_QUOTED_KINDS[char], found.end())

    def _name(self, kind: Kind, *, bare: Kind) -> None:
        end = self._end_of_name(self._at + 1)
        self._emit(kind if end > self._at + 1 else bare, end)

    def _word(self) -> None:
        end = self._end_of_name(self._at)
        word = self._text[self._at : end]
        self._emit(Kind.KEYWORD if word in KEYWORDS else _WORDS.get(word, Kind.IDENTIFIER), end)

    def _end_of_name(self, start: int) -> int:
        end = start
        while end < len(self._text) and _is_alphanumeric(self._text[end]):
            end += 1
        follows = self._text[end : end + 1]
        if follows and follows not in _BEHIND_A_NAME and not self._text.startswith("}}", end):
            raise _Fault(f"bad character {code_point(follows)}")
        return end

    def _number(self) -> None:
        end = self._end_of_number(self._at)
        if self._text[end : end + 1] not in ("+", "-"):
            self._emit(Kind.NUMBER, end)
            return
        end = self._end_of_number(end)
        if self._text[end - 1] != "i":
            raise self._bad_number(end)
        self._emit(Kind.COMPLEX, end)

    def _end_of_number(self, start: int) -> int:
        found = _NUMBER.match(self._text, start)
        end = found.end() if found else start
        if end < len(self._text) and _is_alphanumeric(self._text[end]):
            raise self._bad_number(end + 1)
        return end

    def _bad_number(self, end: int) -> _Fault:
        return _Fault(f"bad number syntax: {quoted(self._text[self._at : end])}")

    def _sign(self, char: str) -> None:
        if char == ":":
            if not self._text.startswith(":=", self._at):
                raise _Fault("expected :=")
            self._emit(Kind.DECLARE, self._at + 2)
            return
        self._parens += (char == "(") - (char == ")")
        if self._parens < 0:
            raise _Fault("unexpected right paren")
        if not (char.isascii() and char.isprintable()):
            raise _Fault(f"unrecognized character in action: {code_point(char)}")
        self._emit(_SIGNS.get(char, Kind.CHARACTER), self._at + 1)


def _is_alphanumeric(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()
