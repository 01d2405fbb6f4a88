"""Pipelines as Python functions of a machine. Each notes the part it works on, so that errors name it.

What Go finds out only when a part is reached (a wrong number of arguments, a constant that is too large)
becomes a function that fails. Knows nothing of blocks.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from modelfiles.templates.go.constants import TooLarge
from modelfiles.templates.go.faults import Fault
from modelfiles.templates.go.fields import field, given_arguments, path
from modelfiles.templates.go.functions import ADDED, FUNCTIONS, Builtin, call_value
from modelfiles.templates.go.machine import Machine, Variable
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
)
from modelfiles.templates.go.nodes import Variable as VariableNode
from modelfiles.templates.go.quoting import quoted
from modelfiles.templates.go.values import INVALID, Value, type_of

# A command behind another one finds that one's result in `machine.piped`, and must take it from there at
# once.
Evaluate: TypeAlias = Callable[[Machine], Value]
_Part: TypeAlias = Command | Operand


class Expressions:
    """`bare`: without the functions that Ollama adds."""

    def __init__(self, *, bare: bool = False) -> None:
        self._bare = bare

    def pipe(self, pipe: Pipe) -> Evaluate:
        """Its value; a nil in an interface has become nothing. Declares and assigns its variables."""
        first, *others = [
            self._command(command, piped=stage > 0) for stage, command in enumerate(pipe.commands)
        ]
        if others or pipe.variables:
            return _pipeline(pipe, first, others)

        def evaluate(machine: Machine) -> Value:
            machine.node = pipe
            value = first(machine)
            return INVALID if value is None else value

        return evaluate

    def _command(self, command: Command, *, piped: bool) -> Evaluate:
        first, *rest = command.words
        count = len(rest) + piped
        if isinstance(first, Identifier):
            return self._function(first, command, rest, piped=piped)
        if not count:
            return _failing(first, "nil is not a command") if isinstance(first, Nil) else self._operand(first)
        if isinstance(first, Pipe):
            return _failing(None, _not_a_function(first))
        if isinstance(first, Field):
            return _field_given_arguments(first, count)
        if isinstance(first, Chain):
            return self._chain_given_arguments(first, count)
        if isinstance(first, VariableNode):
            return _variable_given_arguments(first, count)
        return _failing(first, _not_a_function(first))

    def _operand(self, operand: Operand) -> Evaluate:
        """A word that has no arguments."""
        match operand:
            case Field():
                return _field(operand)
            case VariableNode():
                return _variable(operand)
            case Pipe():
                return self.pipe(operand)
            case Identifier():
                return self._function(operand, operand, (), piped=False)
            case Chain():
                return self._chain(operand)
            case Dot():
                return _dot(operand)
            case Nil():
                return _constant(operand, INVALID)
            case Number(text=text, value=TooLarge()):
                return _failing(operand, f"{text} overflows int")
        return _constant(operand, operand.value)

    def _text_operand(self, operand: Operand) -> Evaluate:
        """A word that must be a string."""
        match operand:
            case String():
                return _constant(operand, operand.value)
            case Nil():
                return _failing(operand, "cannot assign nil to string")
            case Bool() | Number():
                return _failing(operand, f"expected string; found {operand}")
        evaluate = self._operand(operand)
        return lambda machine: _checked_text(machine, evaluate(machine))

    def _chain(self, chain: Chain) -> Evaluate:
        base, names = self._operand(chain.base), chain.path

        def evaluate(machine: Machine) -> Value:
            machine.node = chain
            return path(machine, base(machine), names)

        return evaluate

    def _chain_given_arguments(self, chain: Chain, count: int) -> Evaluate:
        base = self._operand(chain.base)

        def evaluate(machine: Machine) -> Value:
            machine.node = chain
            return given_arguments(machine, base(machine), chain.path, count)

        return evaluate

    def _function(self, node: Identifier, whole: _Part, words: Sequence[Operand], *, piped: bool) -> Evaluate:
        name = node.name
        if self._bare and name in ADDED:
            return _failing(node, f"{quoted(name)} is not a defined function")
        builtin = FUNCTIONS.get(name)
        if builtin is None:
            return self._special(node, whole, words, piped=piped)
        if problem := _wrong_count(name, len(words), builtin.least, piped=piped, variadic=builtin.variadic):
            return _failing(node, problem)
        arguments = [
            self._text_operand(word) if index < builtin.texts else self._operand(word)
            for index, word in enumerate(words)
        ]
        return _invocation(node, whole, builtin, arguments, piped=piped)

    def _special(self, node: Identifier, whole: _Part, words: Sequence[Operand], *, piped: bool) -> Evaluate:
        """and, or, call."""
        if problem := _wrong_count(node.name, len(words), 1, piped=piped, variadic=True):
            return _failing(node, problem)
        arguments = [self._operand(word) for word in words]
        if node.name == "call":
            return _call(node, whole, str(words[0]) if words else None, arguments, piped=piped)
        return _decision(node, arguments, piped=piped)


def _pipeline(pipe: Pipe, first: Evaluate, others: Sequence[Evaluate]) -> Evaluate:
    names = [variable.path[0] for variable in pipe.variables]

    def evaluate(machine: Machine) -> Value:
        machine.node = pipe
        value = first(machine)
        for stage in others:
            machine.piped = INVALID if value is None else value
            value = stage(machine)
        value = INVALID if value is None else value
        for name in names:
            if pipe.assigns:
                machine.assign(name, value)
            else:
                machine.variables.append(Variable(name, value))
        return value

    return evaluate


def _failing(node: Operand | None, message: str) -> Evaluate:
    def evaluate(machine: Machine) -> Value:
        machine.node = node or machine.node
        return machine.fail(message)

    return evaluate


def _constant(node: Operand, value: Value) -> Evaluate:
    def evaluate(machine: Machine) -> Value:
        machine.node = node
        return value

    return evaluate


def _dot(node: Dot) -> Evaluate:
    def evaluate(machine: Machine) -> Value:
        machine.node = node
        return machine.dot

    return evaluate


def _field(node: Field) -> Evaluate:
    names = node.path
    name = names[0]

    def evaluate_one(machine: Machine) -> Value:
        machine.node = node
        return field(machine, machine.dot, name, machine.boxed)

    def evaluate(machine: Machine) -> Value:
        machine.node = node
        return path(machine, machine.dot, names, machine.boxed)

    return evaluate if len(names) > 1 else evaluate_one


def _variable(node: VariableNode) -> Evaluate:
    name, *names = node.path
    fields = tuple(names)

    def evaluate_bare(machine: Machine) -> Value:
        machine.node = node
        return machine.variable(name).value

    def evaluate(machine: Machine) -> Value:
        machine.node = node
        variable = machine.variable(name)
        return path(machine, variable.value, fields, variable.boxed)

    return evaluate if fields else evaluate_bare


def _field_given_arguments(node: Field, count: int) -> Evaluate:
    def evaluate(machine: Machine) -> Value:
        machine.node = node
        return given_arguments(machine, machine.dot, node.path, count, machine.boxed)

    return evaluate


def _variable_given_arguments(node: VariableNode, count: int) -> Evaluate:
    name, *names = node.path

    def evaluate(machine: Machine) -> Value:
        machine.node = node
        variable = machine.variable(name)
        if not names:
            return machine.fail(_not_a_function(node))
        return given_arguments(machine, variable.value, tuple(names), count, variable.boxed)

    return evaluate


# Characters that a function reads in the time that one unit stands for.
_READ_PER_UNIT = 8


def _invocation(
    node: Identifier, whole: _Part, builtin: Builtin, arguments: Sequence[Evaluate], *, piped: bool
) -> Evaluate:
    call, name = builtin.call, node.name
    text_piped = len(arguments) < builtin.texts

    def evaluate(machine: Machine) -> Value:
        last = machine.piped
        machine.node = node
        values = [argument(machine) for argument in arguments]
        if piped:
            values.append(_checked_text(machine, last) if text_piped else last)
        machine.charge(sum(len(value) // _READ_PER_UNIT for value in values if type(value) is str))
        try:
            return call(machine.setting, values)
        except Fault as fault:
            machine.node = whole
            return machine.fail(f"error calling {name}: {fault}")

    return evaluate


def _decision(node: Identifier, arguments: Sequence[Evaluate], *, piped: bool) -> Evaluate:
    """`and` and `or`: the first operand that decides, or the last one."""
    deciding = node.name == "or"

    def evaluate(machine: Machine) -> Value:
        last = machine.piped
        machine.node = node
        value: Value = INVALID
        for argument in arguments:
            value = argument(machine)
            if bool(value) is deciding:
                return value
        return last if piped else value

    return evaluate


def _call(
    node: Identifier, whole: _Part, written: str | None, arguments: Sequence[Evaluate], *, piped: bool
) -> Evaluate:
    def evaluate(machine: Machine) -> Value:
        last = machine.piped
        machine.node = node
        values = [argument(machine) for argument in arguments] + ([last] if piped else [])
        name = written if written is not None else _shown(last)
        try:
            return call_value(values[0], name)
        except Fault as fault:
            machine.node = whole
            return machine.fail(f"error calling {node.name}: {fault}")

    return evaluate


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else f"<{type_of(value).name} Value>"


def _checked_text(machine: Machine, value: Value) -> Value:
    if isinstance(value, str):
        return value
    if value is INVALID:
        machine.fail("invalid value; expected string")
    return machine.fail(f"wrong type for value; expected string; got {type_of(value).name}")


def _wrong_count(name: str, count: int, least: int, *, piped: bool, variadic: bool) -> str:
    """Go counts a piped value too, but mentions it only where the number is fixed."""
    if variadic:
        return (
            ""
            if count + piped >= least
            else f"wrong number of args for {name}: want at least {least} got {count}"
        )
    return (
        "" if count + piped == least else f"wrong number of args for {name}: want {least} got {count + piped}"
    )


def _not_a_function(node: Operand) -> str:
    return f"can't give argument to non-function {node}"
