"""The methods that templates can call on the values they are given. Knows nothing of templates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from modelfiles.templates.go.data import (
    ARGUMENTS,
    PROPERTIES,
    PROPERTY,
    PROPERTY_MAP,
    PROPERTY_TYPE,
    TOOL,
    TOOLS,
)
from modelfiles.templates.go.marshal import marshal
from modelfiles.templates.go.quoting import encoded
from modelfiles.templates.go.values import (
    BYTES,
    Function,
    GoType,
    Map,
    Pointer,
    Slice,
    Struct,
    Uint8,
    Value,
    is_nil,
    slice_of,
)

_PAIRS = GoType("iter.Seq2[string,github.com/ollama/ollama/api.ToolProperty]", "func")
_PROPERTIES_BY_NAME = GoType("map[string]api.ToolProperty", "map", PROPERTY)
_NAMES = {
    "string": "string", "number": "number", "integer": "number", "boolean": "boolean", "array": "any[]",
    "object": "Record<string, any>", "null": "null",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Method:
    """`arity` arguments; `fault` is why a template cannot call it after all."""

    arity: int
    call: Callable[[Value], Value]
    fault: str = ""


def methods_of(type_: GoType) -> Mapping[str, Method]:
    return _METHODS.get(type_, _NONE)


def text_of(value: Value, type_: GoType) -> str | None:
    """What its method String returns; None if it has none."""
    method = methods_of(type_).get("String")
    text = method.call(value) if method else None
    return text if isinstance(text, str) else None


def typescript_type(value: Value) -> str:
    """A property's type in TypeScript; `any` for everything else."""
    if not isinstance(value, Struct) or value.type.name != PROPERTY.name:
        return "any"
    alternatives, names = value.fields["AnyOf"], value.fields["Type"]
    if isinstance(alternatives, Slice) and alternatives:
        return " | ".join(map(typescript_type, alternatives))
    if isinstance(names, Slice) and names:
        return " | ".join(_NAMES.get(str(name), "any") for name in names)
    return "any"


def _json(value: Value) -> str:
    return "{}" if isinstance(value, Map) and is_nil(value) else marshal(value)


def _json_bytes(value: Value) -> Value:
    return slice_of(BYTES, [Uint8(byte) for byte in encoded(marshal(value))])


def _type_text(value: Value) -> str:
    names = [str(name) for name in value] if isinstance(value, Slice) else []
    return f"[{' '.join(names)}]" if len(names) > 1 else "".join(names)


def _target(value: Value) -> Mapping[str, Value] | None:
    return value.target if isinstance(value, Pointer) else None


def _uncallable(value: Value) -> Value:
    """Stands for a method that is refused before it is called."""
    return value


_STRING = MappingProxyType({"String": Method(0, _json)})
_NONE: Mapping[str, Method] = MappingProxyType({})
_METHODS: Mapping[GoType, Mapping[str, Method]] = {
    ARGUMENTS: _STRING,
    PROPERTIES: _STRING,
    TOOLS: _STRING,
    TOOL: _STRING,
    PROPERTY: {"ToTypeScriptType": Method(0, typescript_type)},
    PROPERTY_TYPE: {"String": Method(0, _type_text), "MarshalJSON": Method(0, _json_bytes)},
    PROPERTY_MAP: {
        "All": Method(0, lambda value: Function(_PAIRS, _target(value) or {})),
        "Len": Method(0, lambda value: len(_target(value) or ())),
        "ToMap": Method(0, lambda value: Map(_PROPERTIES_BY_NAME, _target(value))),
        "MarshalJSON": Method(0, _json_bytes),
        "Get": Method(
            1,
            _uncallable,
            "invalid function signature for Get: second return value should be error; is bool",
        ),
        "Set": Method(2, _uncallable, "function Set has 0 return values; should be 1 or 2"),
    },
}
