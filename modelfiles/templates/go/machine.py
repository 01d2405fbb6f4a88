"""The state of one rendering: where it is, what it has written, what it may still cost, how it fails.

A program is a list of steps; calls of templates and loops are kept in lists here and not on the interpreter's
stack, so that no recursion and no nesting of a template is too deep. Knows nothing of how programs are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NoReturn, Protocol, TypeAlias

from modelfiles.errors import TemplateError
from modelfiles.templates.go.functions import Setting
from modelfiles.templates.go.printing import pointed_to, print_text
from modelfiles.templates.go.quoting import quoted
from modelfiles.templates.go.values import INVALID, Function, Value, type_of

DEEPEST_CALL = 100_000

Step: TypeAlias = "Callable[[Machine], None]"


class Place(Protocol):
    """A part of a template that an error can name."""

    @property
    def position(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of one template. `cost` is what running them once takes, loops counted once."""

    code: Sequence[Step]
    cost: int


@dataclass(slots=True)
class Variable:
    """`boxed`: the value is in an interface, which errors mention."""

    name: str
    value: Value
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is restored behind a block: the number of variables, and the dot."""

    mark: int
    dot: Value
    boxed: bool


@dataclass(slots=True)
class Loop:
    """A range that is being run. `mark`: how many variables there are before each turn.

    `pairs` are its keys and elements; `turn` and `end` are places in the program.
    """

    around: Surroundings
    mark: int
    pairs: Iterator[tuple[Value, Value]]
    elements_boxed: bool
    turn: int
    end: int
    ran: bool = False


Block: TypeAlias = Surroundings | Loop


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a called template returns to."""

    name: str
    code: Sequence[Step]
    at: int
    variables: list[Variable]
    dot: Value
    boxed: bool


class Machine:
    """Runs programs of the template `text` on `data`. `missing` is what a missing key of `data` is."""

    __slots__ = (
        "at", "blocks", "boxed", "callers", "code", "dot", "left", "missing", "name", "node", "out", "piped",
        "programs", "setting", "text", "variables",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        programs: Mapping[str, Program],
        data: Value,
        today: date,
        units: int,
        missing: Value = None,
    ) -> None:
        self.text = text
        self.programs = programs
        self.left = units
        self.setting = Setting(self.charge, today)
        self.missing = missing
        self.out: list[str] = []
        self.blocks: list[Block] = []
        self.callers: list[Caller] = []
        self.node: Place | None = None
        self.piped: Value = INVALID
        self.name = ""
        self.code: Sequence[Step] = programs[""].code
        self.at = 0
        self.dot = data
        self.boxed = False
        self.variables = [Variable("$", data)]

    def run(self) -> str:
        """The text that the main template writes. Raises TemplateError."""
        self.charge(self.programs[""].cost)
        while self.at >= 0:
            step = self.code[self.at]
            self.at += 1
            step(self)
        return "".join(self.out)

    def charge(self, units: int) -> None:
        """Take what a step costs. Raises TemplateError when it is not there."""
        self.left -= units
        if self.left < 0:
            self.fail("stopped: the template does far more work than the messages need")

    def write(self, value: Value) -> None:
        """What an action prints."""
        if type(value) is str:
            self.charge(len(value))
            self.out.append(value)
            return
        if isinstance(value, Function):
            self.fail(f"can't print {self.node} of type {type_of(value).name}")
        self.out.append(print_text([pointed_to(value)], self.charge))

    def variable(self, name: str) -> Variable:
        for passed, variable in enumerate(reversed(self.variables)):
            if variable.name == name:
                self.charge(passed // 2)
                return variable
        return self.fail(f"undefined variable: {name}")

    def assign(self, name: str, value: Value, *, boxed: bool = False) -> None:
        variable = self.variable(name)
        variable.value, variable.boxed = value, boxed

    def call(self, name: str, argument: Value) -> None:
        """Go on in another template, with a variable `$` and no other."""
        program = self.programs[name]
        caller = Caller(self.name, self.code, self.at, self.variables, self.dot, self.boxed)
        self.callers.append(caller)
        self.charge(program.cost)
        self.name, self.code, self.at = name, program.code, 0
        self.variables = [Variable("$", argument)]
        self.dot, self.boxed = argument, False

    def leave(self) -> None:
        """The end of a template: back to the caller, if there is one."""
        if not self.callers:
            self.at = -1
            return
        caller = self.callers.pop()
        self.name, self.code, self.at = caller.name, caller.code, caller.at
        self.variables, self.dot, self.boxed = caller.variables, caller.dot, caller.boxed

    def surroundings(self) -> Surroundings:
        return Surroundings(len(self.variables), self.dot, self.boxed)

    def restore(self, around: Surroundings) -> None:
        del self.variables[around.mark :]
        self.dot, self.boxed = around.dot, around.boxed

    def fail(self, message: str) -> NoReturn:
        """Raise TemplateError with the place of the part that was worked on last."""
        if self.node is None:
            raise TemplateError(f"template: : {message}")
        before = self.text[: self.node.position]
        line, column = (
            before.count("\n") + 1,
            len(before[before.rfind("\n") + 1 :].encode("utf-8", "replace")),
        )
        where = f"template: :{line}:{column}: executing {quoted(self.name)} at <{self.node}>"
        raise TemplateError(f"{where}: {message}")
