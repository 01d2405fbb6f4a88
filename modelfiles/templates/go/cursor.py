"""A place in a list of tokens, and the errors that can arise there. Knows nothing of the grammar."""

from dataclasses import dataclass, field
from typing import NoReturn

from modelfiles.errors import TemplateError
from modelfiles.templates.go.lexer import Kind, Token, tokenize


@dataclass(slots=True)
class Scope:
    """What the template being read knows: the main one, or one inside a define or a block.

    `action_line`: where the action that is being read began, 0 outside. `read`: the last token looked at.
    """

    variables: list[str] = field(default_factory=lambda: ["$"])
    ranges: int = 0
    parentheses: int = 0
    action_line: int = 0
    read: int = -1


class Cursor:
    """Moves through the tokens of `text`. Errors name the line of the last token that was looked at."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self.at = 0
        self.scope = Scope()

    def peek(self) -> Token:
        index = min(self.at, len(self._tokens) - 1)
        self.scope.read = max(self.scope.read, index)
        return self._tokens[index]

    def next(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def peek_solid(self) -> Token:
        """The next token that is no white space."""
        while self.peek().kind is Kind.SPACE:
            self.at += 1
        return self.peek()

    def next_solid(self) -> Token:
        token = self.peek_solid()
        self.at += 1
        return token

    def at_keyword(self, word: str) -> bool:
        token = self.peek()
        return token.kind is Kind.KEYWORD and token.text == word

    def expect(self, context: str, *kinds: Kind) -> Token:
        token = self.next_solid()
        if token.kind not in kinds:
            self.unexpected(token, context)
        return token

    def unexpected(self, token: Token, context: str) -> NoReturn:
        if token.kind is not Kind.FAULT:
            self.fail(f"unexpected {token} in {context}")
        began = self.scope.action_line
        if not began or began == token.line:
            self.fail(token.text)
        joint = "" if token.text.endswith(" action") else " in action"
        self.fail(f"{token.text}{joint} started at :{began}")

    def fail(self, message: str) -> NoReturn:
        """Raise TemplateError in Go's form."""
        line = self._tokens[self.scope.read].line if self.scope.read >= 0 else 0
        raise TemplateError(f"template: :{line}: {message}")
