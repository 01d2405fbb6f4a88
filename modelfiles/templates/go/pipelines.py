"""Reads what stands inside an action: declarations, commands, operands, constants."""

from collections.abc import Callable, Collection
from typing import TypeVar

from modelfiles.templates.go.constants import (
    character_value,
    complex_value,
    number_value,
    string_value,
)
from modelfiles.templates.go.cursor import Cursor
from modelfiles.templates.go.lexer import Kind, Token
from modelfiles.templates.go.nodes import (
    Bool,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Nil,
    Number,
    Operand,
    Pipe,
    String,
    Variable,
)
from modelfiles.templates.go.quoting import quoted

Value = TypeVar("Value")

# Go allows more, and has a stack that grows; here each costs a few frames of the interpreter's.
_DEEPEST_PARENTHESES = 100
_STARTS_OPERAND = frozenset(
    (
        Kind.BOOL, Kind.RUNE, Kind.COMPLEX, Kind.DOT, Kind.FIELD, Kind.IDENTIFIER, Kind.NUMBER,
        Kind.NIL, Kind.RAW_STRING, Kind.STRING, Kind.VARIABLE, Kind.LEFT_PAREN,
    )
)  # fmt: skip
_CONSTANTS = (Bool, Dot, Nil, Number, String)


class PipelineReader:
    """Reads at a cursor's place. `functions` are the names that a template may call."""

    def __init__(self, cursor: Cursor, functions: Collection[str]) -> None:
        self._cursor = cursor
        self._functions = functions

    def pipeline(self, context: str, end: Kind = Kind.CLOSE) -> Pipe:
        """Up to and with its end. Raises TemplateError, as all others do."""
        cursor = self._cursor
        position = cursor.peek_solid().position
        assigns, variables = self._declarations(context)
        commands: list[Command] = []
        while (token := cursor.next_solid()).kind is not end:
            if token.kind not in _STARTS_OPERAND:
                cursor.unexpected(token, context)
            cursor.at -= 1
            commands.append(self._command())
        if not commands:
            cursor.fail(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.words[0], _CONSTANTS):
                cursor.fail(f"non executable command in pipeline stage {stage}")
        return Pipe(position, assigns, tuple(variables), tuple(commands))

    def string(self, token: Token, context: str) -> str:
        """The name in a define, block or template clause."""
        if token.kind not in (Kind.STRING, Kind.RAW_STRING):
            self._cursor.unexpected(token, context)
        return self._constant(string_value, token)

    def _declarations(self, context: str) -> tuple[bool, list[Variable]]:
        """Variables in front of a pipe, and whether it assigns to them; none where a variable is a value."""
        cursor = self._cursor
        found: list[Variable] = []
        while (token := cursor.peek_solid()).kind is Kind.VARIABLE:
            start = cursor.at
            cursor.at += 1
            sign = cursor.peek_solid()
            declares = sign.kind in (Kind.ASSIGN, Kind.DECLARE)
            if not declares and (sign.kind is not Kind.CHARACTER or sign.text != ","):
                cursor.at = start
                break
            cursor.at += 1
            found.append(Variable(token.position, (token.text,)))
            cursor.scope.variables.append(token.text)
            if declares:
                return sign.kind is Kind.ASSIGN, found
            self._check_second(context, len(found))
        return False, found

    def _check_second(self, context: str, count: int) -> None:
        if context == "range" and count < 2:
            if self._cursor.peek_solid().kind in (Kind.VARIABLE, Kind.CLOSE, Kind.RIGHT_PAREN):
                return
            self._cursor.fail("range can only initialize variables")
        self._cursor.fail(f"too many declarations in {context}")

    def _command(self) -> Command:
        cursor = self._cursor
        position = cursor.peek_solid().position
        words: list[Operand] = []
        while True:
            cursor.peek_solid()
            word = self._operand()
            words += [word] if word is not None else []
            token = cursor.next()
            if token.kind is Kind.SPACE:
                continue
            if token.kind in (Kind.CLOSE, Kind.RIGHT_PAREN):
                cursor.at -= 1
            elif token.kind is not Kind.PIPE:
                cursor.unexpected(token, "operand")
            return Command(position, tuple(words))

    def _operand(self) -> Operand | None:
        cursor = self._cursor
        term = self._term()
        if term is None or cursor.peek().kind is not Kind.FIELD:
            return term
        position = cursor.peek().position
        names: list[str] = []
        while cursor.peek().kind is Kind.FIELD:
            names.append(cursor.next().text[1:])
        if isinstance(term, Field | Variable):
            return type(term)(position, (*term.path, *names))
        if isinstance(term, Pipe | Identifier):
            return Chain(position, term, tuple(names))
        return cursor.fail(f"unexpected . after term {quoted(str(term))}")

    def _term(self) -> Operand | None:
        token = self._cursor.next_solid()
        place, text = token.position, token.text
        match token.kind:
            case Kind.IDENTIFIER:
                return self._function(token)
            case Kind.VARIABLE:
                return self._variable(token)
            case Kind.LEFT_PAREN:
                return self._parenthesized()
            case Kind.FIELD:
                return Field(place, (text[1:],))
            case Kind.DOT:
                return Dot(place)
            case Kind.NIL:
                return Nil(place)
            case Kind.BOOL:
                return Bool(place, text == "true")
            case Kind.STRING | Kind.RAW_STRING:
                return String(place, text, self._constant(string_value, token))
            case Kind.NUMBER:
                return Number(place, text, self._constant(number_value, token))
            case Kind.COMPLEX:
                return Number(place, text, self._constant(complex_value, token))
            case Kind.RUNE:
                return Number(place, text, self._constant(character_value, token))
        self._cursor.at -= 1
        return None

    def _function(self, token: Token) -> Identifier:
        if token.text not in self._functions:
            self._cursor.fail(f"function {quoted(token.text)} not defined")
        return Identifier(token.position, token.text)

    def _variable(self, token: Token) -> Variable:
        if token.text not in self._cursor.scope.variables:
            self._cursor.fail(f"undefined variable {quoted(token.text)}")
        return Variable(token.position, (token.text,))

    def _parenthesized(self) -> Pipe:
        scope = self._cursor.scope
        if scope.parentheses >= _DEEPEST_PARENTHESES:
            self._cursor.fail("max expression depth exceeded")
        scope.parentheses += 1
        pipe = self.pipeline("parenthesized pipeline", Kind.RIGHT_PAREN)
        scope.parentheses -= 1
        return pipe

    def _constant(self, read: Callable[[str], Value], token: Token) -> Value:
        try:
            return read(token.text)
        except ValueError as error:
            self._cursor.fail(str(error))
