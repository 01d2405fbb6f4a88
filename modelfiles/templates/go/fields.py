"""`.Name` of a value: a method, a field of a struct, or an element of a map. Knows nothing of pipelines."""

from typing import NoReturn, TypeAlias

from modelfiles.templates.go.indexing import zero
from modelfiles.templates.go.machine import Machine
from modelfiles.templates.go.methods import Method, methods_of
from modelfiles.templates.go.values import ANY, INVALID, Map, Pointer, Struct, Value, type_of

# Whether a value is in an interface, which errors mention; or of what it is which field, to find that out.
Origin: TypeAlias = bool | tuple[Value, str]


def field(machine: Machine, receiver: Value, name: str, origin: Origin = False) -> Value:
    """Raises TemplateError for what is not there."""
    kind = type(receiver)
    if kind is dict:
        found: Value = receiver.get(name, machine.missing)  # type: ignore[attr-defined]
        return found
    if receiver is INVALID:
        return INVALID
    if receiver is None:
        machine.fail(f"nil pointer evaluating {ANY.name}.{name}")
    method = _method(receiver, name)
    if method is not None:
        return _call(machine, method, receiver, name)
    if isinstance(receiver, Struct) and name in receiver.fields:
        return receiver.fields[name]
    if isinstance(receiver, Map):
        return _entry(receiver, name)
    return _missing(machine, receiver, name, origin)


def path(machine: Machine, receiver: Value, names: tuple[str, ...], origin: Origin = False) -> Value:
    """`receiver.A.B`. Raises TemplateError."""
    for name in names:
        holder, receiver = receiver, field(machine, receiver, name, origin)
        origin = (holder, name)
    return receiver


def given_arguments(
    machine: Machine, receiver: Value, names: tuple[str, ...], count: int, origin: Origin = False
) -> Value:
    """`receiver.A.B` followed by `count` arguments, which no field can take. Raises TemplateError.

    No method that a template sees takes any either, so they need not be evaluated.
    """
    *before, name = names
    for earlier in before:
        holder, receiver = receiver, field(machine, receiver, earlier, origin)
        origin = (holder, earlier)
    if receiver is INVALID:
        return INVALID
    if receiver is None:
        machine.fail(f"nil pointer evaluating {ANY.name}.{name}")
    method = _method(receiver, name)
    if method is not None:
        machine.fail(_wrong_call(method, name, count) or method.fault)
    if isinstance(receiver, Struct) and name in receiver.fields:
        machine.fail(f"{name} has arguments but cannot be invoked as function")
    if isinstance(receiver, dict | Map):
        machine.fail(f"{name} is not a method but has arguments")
    return _missing(machine, receiver, name, origin)


def _method(receiver: Value, name: str) -> Method | None:
    if isinstance(receiver, str | float | int | list):
        return None
    return methods_of(receiver.type if isinstance(receiver, Struct) else type_of(receiver)).get(name)


def _call(machine: Machine, method: Method, receiver: Value, name: str) -> Value:
    if problem := _wrong_call(method, name, 0) or method.fault:
        machine.fail(problem)
    try:
        return method.call(receiver)
    except ValueError as error:
        machine.fail(f"error calling {name}: {error}")


def _wrong_call(method: Method, name: str, count: int) -> str:
    if method.arity == count:
        return ""
    return f"wrong number of args for {name}: want {method.arity} got {count}"


def _entry(receiver: Map, name: str) -> Value:
    entries = receiver.entries or {}
    return entries[name] if name in entries else zero(receiver.type.element)


def _gives_interfaces(receiver: Value, name: str) -> bool:
    """Whether the field of that name is an interface, whatever it holds."""
    if isinstance(receiver, Struct):
        return any(field.name == name and field.type is ANY for field in receiver.type.fields)
    return isinstance(receiver, dict | Map) and type_of(receiver).element is ANY


def _missing(machine: Machine, receiver: Value, name: str, origin: Origin) -> NoReturn:
    boxed = _gives_interfaces(*origin) if isinstance(origin, tuple) else origin
    type_ = ANY if boxed else type_of(receiver)
    if isinstance(receiver, Pointer) and receiver and name == "om":
        machine.fail(f"om is an unexported field of struct type {type_.name}")
    machine.fail(f"can't evaluate field {name} in type {type_.name}")
