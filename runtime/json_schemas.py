"""JSON schemas as clients write them, made ready for llguidance. Pure.

llguidance refuses what it cannot honour and says which keyword that is. Left out here is what must not lead
to a refusal: what only annotates (JSON Schema says so of every `format` that a program does not know), what
has no effect, and `uniqueItems`, which code generators write for sets whose readers merge equal items anyway.

An object that lists its properties holds these and no others, unless the schema says more about others: so
do Ollama and llama-server read it. JSON Schema itself allows any others, and small models then invent
more of them until the context is full. Where schemas are put together by `allOf`, nothing is closed: parts
would exclude each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from runtime.errors import BadOptions

# Enough for any interface description; compile times grow with the square of the number of properties.
MOST_SCHEMA_BYTES = 256 << 10
KNOWN_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")
)
_KNOWN_DIALECT = re.compile(r"https?://json-schema\.org/draft(-0[467]|/2019-09|/2020-12)/schema#?")
_NO_EFFECT: Mapping[str, Any] = {
    "uniqueItems": False, "minProperties": 0, "minItems": 0, "minLength": 0, "minContains": 1,
    "unevaluatedProperties": True, "unevaluatedItems": True, "dependencies": {}, "dependentRequired": {},
    "dependentSchemas": {}, "propertyNames": True,
}  # fmt: skip
# Under these names stand maps from a client's own names to schemas; under others, values that are no schemas.
_SCHEMA_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions"))
_VALUES = frozenset(("const", "enum", "default", "examples", "required"))
# What says of an object that others than its listed properties may be there.
_OPENING = frozenset(
    ("additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "anyOf", "oneOf", "if")
)


def read_schema(source: str) -> dict[str, Any]:
    """The schema in ``source``, ready for the compiler. BadOptions when it is none or too large."""
    if len(source.encode("utf-8", "replace")) > MOST_SCHEMA_BYTES:
        raise BadOptions(f"the schema is larger than {MOST_SCHEMA_BYTES >> 10} KiB")
    try:
        schema = json.loads(source)
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            raise BadOptions("a JSON schema has to be an object")
        ready = _ready(schema)
        return ready if _has_key(ready, "allOf") else _closed(ready)
    except RecursionError:
        raise BadOptions("the schema is nested too deeply") from None
    except ValueError as problem:
        raise BadOptions(f"the schema is not JSON: {problem}") from problem


def _ready(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {name: _ready_part(name, value) for name, value in schema.items() if not _idle(name, value)}
    return _with_null(kept)


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    closed = {name: _closed_below(name, value) for name, value in part.items()}
    if isinstance(part.get("properties"), dict) and "type" in part and not _OPENING & part.keys():
        closed["additionalProperties"] = False
    return closed


def _closed_below(name: str, value: Any) -> Any:
    if name in _SCHEMA_MAPS and isinstance(value, dict):
        return {key: _closed(schema) for key, schema in value.items()}
    return value if name in _VALUES else _closed(value)


def _has_key(part: Any, wanted: str) -> bool:
    if isinstance(part, list):
        return any(_has_key(item, wanted) for item in part)
    return isinstance(part, dict) and (
        wanted in part or any(_has_key(value, wanted) for name, value in part.items() if name not in _VALUES)
    )


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI's ``nullable: true`` means "or null"."""
    if schema.get("nullable") is not True:
        return schema
    kind = schema.get("type")
    rest = {name: value for name, value in schema.items() if name != "nullable"}
    if isinstance(kind, str):
        rest["type"] = [kind, "null"] if kind != "null" else kind
        if isinstance(rest.get("enum"), list) and None not in rest["enum"]:
            rest["enum"] = [*rest["enum"], None]
    return rest


def _ready_part(name: str, value: Any) -> Any:
    if name in _VALUES:
        return value
    if name in _SCHEMA_MAPS and isinstance(value, dict):
        return {key: _ready(part) if isinstance(part, dict) else part for key, part in value.items()}
    if isinstance(value, dict):
        return _ready(value)
    if isinstance(value, list):
        return [_ready(part) if isinstance(part, dict) else part for part in value]
    return value


def _idle(name: str, value: Any) -> bool:
    if name == "format":
        return value not in KNOWN_FORMATS
    if name == "$schema":
        return not (isinstance(value, str) and _KNOWN_DIALECT.fullmatch(value))
    if name == "uniqueItems":
        return isinstance(value, bool)
    return name in _NO_EFFECT and type(value) is type(_NO_EFFECT[name]) and value == _NO_EFFECT[name]
