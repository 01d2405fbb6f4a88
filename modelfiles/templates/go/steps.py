"""The steps that programs are made of. Each may move the machine's place in the program.

Knows nothing of the order in which steps are put together.
"""

from modelfiles.templates.go.expressions import Evaluate
from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.loops import pairs_of
from modelfiles.templates.go.machine import DEEPEST_CALL, Loop, Machine, Step
from modelfiles.templates.go.nodes import Action, Branch, Call
from modelfiles.templates.go.quoting import quoted
from modelfiles.templates.go.values import INVALID, Value

TURN_COST = 8


class Label:
    """A place in a program that is known only when all of it is made. `cost`: of the steps up to there."""

    __slots__ = ("at", "cost")

    def __init__(self) -> None:
        self.at = 0
        self.cost = 0


def write_text(text: str) -> Step:
    return lambda machine: machine.out.append(text)


def declare(evaluate: Evaluate) -> Step:
    """An action whose value goes into variables."""

    def step(machine: Machine) -> None:
        evaluate(machine)

    return step


def show(node: Action, evaluate: Evaluate) -> Step:
    """An action that prints its value."""

    def step(machine: Machine) -> None:
        value = evaluate(machine)
        machine.node = node
        machine.write(value)

    return step


def jump(label: Label) -> Step:
    def step(machine: Machine) -> None:
        machine.at = label.at

    return step


def enter_if(evaluate: Evaluate, otherwise: Label) -> Step:
    def step(machine: Machine) -> None:
        if not evaluate(machine):
            machine.at = otherwise.at

    return step


def enter_with(evaluate: Evaluate, otherwise: Label) -> Step:
    def step(machine: Machine) -> None:
        value = evaluate(machine)
        if value:
            machine.dot, machine.boxed = value, False
        else:
            machine.at = otherwise.at

    return step


def nothing(_: Machine) -> Value:
    """The dot of a template that is called without a value."""
    return INVALID


def call_template(node: Call, evaluate: Evaluate) -> Step:
    def step(machine: Machine) -> None:
        machine.node = node
        if node.name not in machine.programs:
            machine.fail(f"template {quoted(node.name)} not defined")
        if len(machine.callers) >= DEEPEST_CALL:
            machine.fail(f"exceeded maximum template depth ({DEEPEST_CALL})")
        machine.call(node.name, evaluate(machine))

    return step


def open_block(machine: Machine) -> None:
    machine.blocks.append(machine.surroundings())


def close_block(machine: Machine) -> None:
    block = machine.blocks.pop()
    machine.restore(block.around if isinstance(block, Loop) else block)


def start_loop(node: Branch, evaluate: Evaluate, turn: Label, end: Label) -> Step:
    """In front of the step for the next turn, which comes first too."""
    count = len(node.pipe.variables)

    def step(machine: Machine) -> None:
        around = machine.surroundings()
        value = evaluate(machine)
        try:
            pairs, boxed = pairs_of(value, count, machine.charge)
        except Fault as fault:
            machine.fail(str(fault))
        loop = Loop(around, len(machine.variables), iter(pairs), boxed, turn.at, end.at)
        machine.blocks.append(loop)

    return step


def next_turn(node: Branch, turn: Label, otherwise: Label, end: Label) -> Step:
    """Bind the variables and the dot for the next turn, or leave. Without any turn there is the else
    branch.
    """
    names = [variable.path[0] for variable in node.pipe.variables]
    assigns = node.pipe.assigns

    def bind(machine: Machine, loop: Loop, key: Value, element: Value) -> None:
        values = (
            ((key, False), (element, loop.elements_boxed))
            if len(names) > 1
            else ((element, loop.elements_boxed),)
        )
        for place, (name, (value, boxed)) in enumerate(
            zip(names, values, strict=False), loop.mark - len(names)
        ):
            if assigns:
                machine.assign(name, value, boxed=boxed)
            else:
                variable = machine.variables[place]
                variable.value, variable.boxed = value, boxed

    def step(machine: Machine) -> None:
        loop = innermost(machine)
        pair = next(loop.pairs, None)
        if pair is None:
            _leave(machine, loop, otherwise, end)
            return
        machine.charge(otherwise.cost - turn.cost)
        del machine.variables[loop.mark :]
        loop.ran = True
        if names:
            bind(machine, loop, *pair)
        machine.dot, machine.boxed = pair[1], loop.elements_boxed

    return step


def _leave(machine: Machine, loop: Loop, otherwise: Label, end: Label) -> None:
    if loop.ran:
        close_block(machine)
        machine.at = end.at
    else:
        machine.at = otherwise.at  # with the variables of the range still there


def innermost(machine: Machine) -> Loop:
    """The loop that is being run, with all blocks inside it left."""
    while not isinstance(loop := machine.blocks[-1], Loop):
        machine.blocks.pop()
    return loop


def break_loop(machine: Machine) -> None:
    machine.at = innermost(machine).end
    close_block(machine)


def continue_loop(machine: Machine) -> None:
    machine.at = innermost(machine).turn
