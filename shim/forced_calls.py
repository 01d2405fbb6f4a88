"""Answers that have to be a call: what they must look like, and how they are read.

A forced call is one JSON object, `{"name": ..., "arguments": {...}}`, whatever the model's own way of writing
calls is: the constraint is exact, and so its reader can be. Pure; knows no dialect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from modelfiles.replies.toolcalls import STYLES
from runtime.options import Constraint
from shim.gojson import encode
from shim.requests import Forced

Schema = dict[str, object]

_COMPOSED = frozenset(("$ref", "anyOf", "oneOf", "allOf"))
STYLE = STYLES["llama3_json"]


def forced(calls: Sequence[Forced]) -> Constraint:
    """One call of one of these, with arguments that follow its schema."""
    shared: Schema = {}
    shapes = [_shape(call, f"tool_{at}", shared) for at, call in enumerate(calls)]
    schema: Schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return Constraint("json_schema", encode({**schema, **({"$defs": shared} if shared else {})}).decode())


def _shape(call: Forced, place: str, shared: Schema) -> Schema:
    arguments = _moved(dict(call.schema), f"#/$defs/{place}")
    if arguments != call.schema:
        shared[place] = _moved(dict(call.schema), f"#/$defs/{place}")
    return {
        "type": "object",
        "properties": {"name": {"const": call.name}, "arguments": _closed(cast(Schema, arguments))},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _closed(schema: Schema) -> Schema:
    """An object; without keys that the schema does not name, where it does not speak of others.

    Otherwise a small model would go on inventing keys for as long as it may.
    """
    if not schema.keys() & _COMPOSED:
        schema = {"type": "object", **schema}
    if "properties" in schema and not schema.keys() & {"additionalProperties", "patternProperties"}:
        return {**schema, "additionalProperties": False}
    return schema


def _moved(value: object, place: str) -> object:
    """References inside the schema, which now lies at `place` of another one."""
    if isinstance(value, Mapping):
        return {
            key: f"{place}{inner[1:]}"
            if key == "$ref" and isinstance(inner, str) and inner.startswith("#")
            else _moved(inner, place)
            for key, inner in value.items()
        }
    return [_moved(inner, place) for inner in value] if isinstance(value, list) else value
