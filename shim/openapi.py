"""An OpenAPI 3.1 description of the server, made from the same tables that its requests are read with.

A request's schema is as lenient as the reading is: every key may be null or left out, and unknown ones are
dropped. Pure; knows no endpoint by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shim import bodykinds
from shim.bodies import Struct

Schema = dict[str, object]

JSON = "application/json"
LINES = "application/x-ndjson"
BYTES = "application/octet-stream"
TEXT = "text/plain"

_TYPES = {str: "string", bool: "boolean", int: "integer"}
_INT64: Schema = {"minimum": -(2**63), "maximum": 2**63 - 1}
_OWN: Mapping[bodykinds.Own, Schema] = {
    bodykinds.KEEP_ALIVE: {"type": ["number", "string", "null"], "examples": [300, "5m", -1]},
    bodykinds.THINK: {"enum": [True, False, "high", "medium", "low", "max", None]},
    bodykinds.ARGUMENTS: {"type": ["object", "null"]},
}
_ERROR: Schema = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}
ANYTHING: Schema = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `path` names its placeholders in braces, as the router does.

    `body` is the declared request, or BYTES; `answers` are the media types of success with their schemas,
    empty where success has no body; `fields` are those that every successful answer has.
    """

    method: str
    path: str
    summary: str
    body: Struct | str = ""
    answers: Mapping[str, Schema] = field(default_factory=lambda: {JSON: ANYTHING})
    statuses: tuple[int, ...] = (200,)
    examples: tuple[Mapping[str, object], ...] = ()


def answer_with(*names: str, also_lines: bool = False) -> dict[str, Schema]:
    """The media types of an object that always has these fields; streams may send other items."""
    found: dict[str, Schema] = {JSON: {"type": "object", "required": [*names]}}
    if also_lines:
        found[LINES] = {"type": "string", "description": "one such object a line, as they come"}
    return found


def describe(operations: Iterable[Operation], version: str) -> Schema:
    """The whole document."""
    paths: dict[str, dict[str, object]] = {}
    shapes: dict[str, Schema] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, shapes)
    return {
        "openapi": "3.1.0",
        "info": {"title": "moe-shim", "version": version, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR, **shapes}},
    }


def _operation(operation: Operation, shapes: dict[str, Schema]) -> Schema:
    described: Schema = {"summary": operation.summary, "operationId": _identifier(operation)}
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    if names:
        described["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in names
        ]
    if operation.body:
        described["requestBody"] = {"required": True, "content": _content(operation, shapes)}
    content = {media: {"schema": schema} for media, schema in operation.answers.items()}
    success: Schema = {"description": "success", **({"content": content} if content else {})}
    # HEAD has no body, whatever the status; the router answers in plain text.
    failure: Schema = {"description": "what is wrong"}
    if operation.method != "HEAD":
        error = {"schema": {"$ref": "#/components/schemas/Error"}}
        failure["content"] = {JSON: error, TEXT: {"schema": {"type": "string"}}}
    described["responses"] = {**{str(status): success for status in operation.statuses}, "default": failure}
    return described


def _identifier(operation: Operation) -> str:
    words = operation.path.replace("{", "").replace("}", "").strip("/").split("/")
    return "_".join([operation.method.lower(), *filter(None, words)]).replace("-", "_")


def _content(operation: Operation, shapes: dict[str, Schema]) -> Schema:
    if isinstance(operation.body, str):
        return {operation.body: {"schema": {"type": "string", "format": "binary"}}}
    content: Schema = {"schema": schema_of(operation.body, shapes)}
    if operation.examples:
        content["examples"] = {str(at): {"value": value} for at, value in enumerate(operation.examples)}
    return {JSON: content}


def schema_of(kind: bodykinds.Kind, shapes: dict[str, Schema]) -> Schema:
    """What a kind accepts; structs are put into `shapes` and referred to by name."""
    match kind:
        case bodykinds.Scalar(python_type=python_type):
            return {"type": [_TYPES[python_type], "null"], **(_INT64 if python_type is int else {})}
        case bodykinds.ListOf(item=item):
            return {"type": ["array", "null"], "items": schema_of(item, shapes)}
        case bodykinds.MapOf(item=item):
            return {"type": ["object", "null"], "additionalProperties": schema_of(item, shapes)}
        case bodykinds.JsonObject():
            return {"type": ["object", "null"]}
        case bodykinds.Base64():
            return {"type": ["string", "null"], "contentEncoding": "base64"}
        case bodykinds.Own():
            return dict(_OWN.get(kind, {}))
        case Struct():
            return _reference(kind, shapes)
    return {}  # any JSON at all


def _reference(struct: Struct, shapes: dict[str, Schema]) -> Schema:
    if struct.name not in shapes:
        shapes[struct.name] = {}  # a struct may hold itself
        properties = {name: schema_of(known.kind, shapes) for name, known in struct.by_name.items()}
        shapes[struct.name] = {"type": ["object", "null"], "properties": properties}
    return {"$ref": f"#/components/schemas/{struct.name}"}
