"""A template's nodes as a list of steps: blocks become jumps.

The work that is left is kept in a list and not on the interpreter's stack, so that no nesting is too deep.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from modelfiles.templates.go.cut import cut_pipe
from modelfiles.templates.go.expressions import Evaluate, Expressions
from modelfiles.templates.go.machine import Machine, Program, Step
from modelfiles.templates.go.nodes import Action, Branch, Call, Chain, Jump, Node, Pipe, Text, operands
from modelfiles.templates.go.steps import (
    TURN_COST,
    Label,
    break_loop,
    call_template,
    close_block,
    continue_loop,
    declare,
    enter_if,
    enter_with,
    jump,
    next_turn,
    nothing,
    open_block,
    show,
    start_loop,
    write_text,
)

# Finding a value takes longer than writing a character.
OPERAND_COST = 4

_Task: TypeAlias = "Node | Callable[[], None]"


def compile_nodes(nodes: Sequence[Node], *, cut: bool = False) -> Program:
    """With `cut`, only up to `.Response`, as for the last turn of a template without messages."""
    return _Compiler(cut=cut).run(nodes)


class _Compiler:
    def __init__(self, *, cut: bool) -> None:
        self._expressions = Expressions(bare=cut)
        self._code: list[Step] = []
        self._cost = 0
        self._tasks: list[_Task] = []
        self._cutting = cut
        self._ended = False

    def run(self, nodes: Sequence[Node]) -> Program:
        self._later(nodes)
        while self._tasks:
            task = self._tasks.pop()
            if not isinstance(task, Text | Action | Branch | Call | Jump):
                task()
            elif not self._ended:
                self._node(task)
        self._emit(Machine.leave)
        return Program(tuple(self._code), self._cost)

    def _later(self, tasks: Sequence[_Task]) -> None:
        self._tasks += reversed(tasks)

    def _emit(self, step: Step, cost: int = 1) -> None:
        self._code.append(step)
        self._cost += cost

    def _place(self, label: Label) -> Callable[[], None]:
        def place() -> None:
            label.at, label.cost = len(self._code), self._cost

        return place

    def _jump_to(self, label: Label) -> Callable[[], None]:
        return lambda: self._emit(jump(label))

    def _end_block(self) -> None:
        self._emit(close_block)

    def _node(self, node: Node) -> None:
        match node:
            case Text(text=text):
                self._emit(write_text(text), 1 + len(text))
            case Action():
                self._action(node)
            case Call():
                self._call(node)
            case Jump():
                self._emit(break_loop if node.kind == "break" else continue_loop)
            case Branch(kind="range"):
                self._range(node)
            case Branch():
                self._branch(node)

    def _pipe(self, pipe: Pipe) -> Evaluate:
        self._cost += OPERAND_COST * sum(1 for _ in operands(pipe))
        return self._expressions.pipe(pipe)

    def _action(self, node: Action) -> None:
        pipe: Pipe | None = node.pipe
        if self._cutting:
            pipe, self._ended = cut_pipe(node.pipe)
        if pipe is not None:
            evaluate = self._pipe(pipe)
            self._emit(declare(evaluate) if pipe.variables else show(node, evaluate))

    def _call(self, node: Call) -> None:
        evaluate = self._pipe(node.pipe) if node.pipe else nothing
        self._emit(call_template(node, evaluate))

    def _branch(self, node: Branch) -> None:
        evaluate = self._pipe(node.pipe)
        otherwise, end = Label(), Label()
        scoped = node.kind == "with" or _declares(node)
        if scoped:
            self._emit(open_block)
        self._emit((enter_with if node.kind == "with" else enter_if)(evaluate, otherwise))
        self._later(
            [
                *node.body,
                self._jump_to(end),
                self._place(otherwise),
                *(node.otherwise or ()),
                self._place(end),
                *((self._end_block,) if scoped else ()),
            ]
        )

    def _range(self, node: Branch) -> None:
        evaluate = self._pipe(node.pipe)
        turn, otherwise, end = Label(), Label(), Label()
        self._emit(start_loop(node, evaluate, turn, end))
        self._place(turn)()
        self._emit(next_turn(node, turn, otherwise, end), cost=TURN_COST)
        self._later(
            [
                *node.body,
                self._jump_to(turn),
                self._place(otherwise),
                *(node.otherwise or ()),
                self._end_block,
                self._place(end),
            ]
        )


def _declares(node: Branch) -> bool:
    """Whether variables come up that end with the block; a block inside sees to its own."""
    inside = (inner for inner in (*node.body, *(node.otherwise or ())) if isinstance(inner, Action | Call))
    return any(
        pipe is not None and _declares_in(pipe) for pipe in (node.pipe, *(inner.pipe for inner in inside))
    )


def _declares_in(pipe: Pipe) -> bool:
    if pipe.variables and not pipe.assigns:
        return True
    words = (word for command in pipe.commands for word in command.words)
    inner = (word.base if isinstance(word, Chain) else word for word in words)
    return any(isinstance(word, Pipe) and _declares_in(word) for word in inner)
