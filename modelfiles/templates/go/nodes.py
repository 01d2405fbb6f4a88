"""The parts of a parsed template. `str()` of one is what error messages show of it.

Positions count characters of the template's text. Knows nothing of running.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from modelfiles.templates.go.constants import Number as NumberValue
from modelfiles.templates.go.quoting import quoted


@dataclass(frozen=True, slots=True, eq=False)
class Dot:
    """`.`: the current value."""

    position: int

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True, eq=False)
class Nil:
    """The word `nil`."""

    position: int

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True, eq=False)
class Bool:
    """`true` or `false`."""

    position: int
    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number as it was written."""

    position: int
    text: str
    value: NumberValue

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class String:
    """A quoted string."""

    position: int
    text: str
    value: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Identifier:
    """The name of a function."""

    position: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`.A.B`; the position is that of the first name but one, as in Go."""

    position: int
    path: tuple[str, ...]

    def __str__(self) -> str:
        return "." + ".".join(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """`$x.A.B`; the first of the path is the variable, with its dollar sign."""

    position: int
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Fields of what is in parentheses, or of a function's result."""

    position: int
    base: Pipe | Identifier
    path: tuple[str, ...]

    def __str__(self) -> str:
        base = f"({self.base})" if isinstance(self.base, Pipe) else str(self.base)
        return ".".join((base, *self.path))


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """A word and its arguments."""

    position: int
    words: tuple[Operand, ...]

    def __str__(self) -> str:
        return " ".join(f"({word})" if isinstance(word, Pipe) else str(word) for word in self.words)


@dataclass(frozen=True, slots=True, eq=False)
class Pipe:
    """Commands, each given the result of the one before. `assigns`: the variables exist already."""

    position: int
    assigns: bool
    variables: tuple[Variable, ...]
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.variables:
            return commands
        return f"{', '.join(map(str, self.variables))} {'=' if self.assigns else ':='} {commands}"


Operand: TypeAlias = Dot | Nil | Bool | Number | String | Identifier | Field | Variable | Chain | Pipe


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Text outside of actions."""

    position: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """A pipeline whose value is printed."""

    position: int
    pipe: Pipe

    def __str__(self) -> str:
        return "{{" + str(self.pipe) + "}}"


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """`otherwise` is None where there is no else."""

    kind: Literal["if", "with", "range"]
    position: int
    pipe: Pipe
    body: Sequence[Node] = field(default=())
    otherwise: Sequence[Node] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Another template, run with the pipe's value."""

    position: int
    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        return "{{template " + quoted(self.name) + (f" {self.pipe}" if self.pipe else "") + "}}"


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """Out of the innermost range, or to its next turn."""

    kind: Literal["break", "continue"]
    position: int


Node: TypeAlias = Text | Action | Branch | Call | Jump


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """All nodes in the order of the text, those inside of others behind them."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Branch):
            pending += reversed(node.otherwise or ())
            pending += reversed(node.body)


def operands(pipe: Pipe) -> Iterator[Operand]:
    """All words of a pipe and of those in parentheses, but nothing inside a chain."""
    for command in pipe.commands:
        for word in command.words:
            if isinstance(word, Pipe):
                yield from operands(word)
            else:
                yield word
