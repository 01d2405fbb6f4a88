"""Plain text to typed values, by schema."""

import json
from typing import Any

import pytest

from modelfiles.replies.argument_types import typed

ROOT: dict[str, Any] = {"$defs": {"Count": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("6", None, "6"),
        ("6", {}, "6"),
        ("007", {"type": "string"}, "007"),
        ("null", {"type": "string"}, "null"),
        ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
        ("6", {"type": "integer"}, 6),
        (" +6 ", {"type": "integer"}, 6),
        ("-12345678901234567890123", {"type": "int64"}, -12345678901234567890123),
        ("6.5", {"type": "integer"}, "6.5"),
        ("six", {"type": "integer"}, "six"),
        ("2.50", {"type": "number"}, 2.5),
        ("3.0", {"type": "float"}, 3),
        ("3", {"type": "number"}, 3),
        ("1e400", {"type": "number"}, "1e400"),
        (".5", {"type": "number"}, 0.5),
        ("True", {"type": "boolean"}, True),
        ("false", {"type": "bool"}, False),
        ("1", {"type": "boolean"}, True),
        ("0", {"type": ["boolean", "null"]}, False),
        ("1", {"type": ["boolean", "integer"]}, 1),
        ("yes", {"type": "boolean"}, "yes"),
        ("None", {"type": ["string", "null"]}, None),
        ("NULL", {"type": "null"}, None),
        ("none of it", {"type": ["string", "null"]}, "none of it"),
        ('["a", 1, null]', {"type": "array"}, ["a", 1, None]),
        ("['a', True, (1, 2)]", {"type": "list"}, ["a", True, [1, 2]]),
        ("(1, 2)", {"type": "array"}, [1, 2]),
        ("{'a': None}", {"type": "dict"}, {"a": None}),
        ("{1, 2}", {"type": "array"}, "{1, 2}"),
        ("[nan]", {"type": "array"}, "[nan]"),
        ("[NaN]", {"type": "array"}, "[NaN]"),
        ("__import__('os')", {"type": "array"}, "__import__('os')"),
        ("[" * 4000, {"type": "array"}, "[" * 4000),
        ('{"a": 1}', {"type": "array"}, '{"a": 1}'),
        ("5", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, 5),
        ("five", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "five"),
        ("2", {"enum": [1, 2, 3]}, 2),
        ("true", {"const": True}, True),
        ("a", {"enum": ["a", "b"]}, "a"),
        ("5", {"$ref": "#/$defs/Count"}, 5),
        ("5", {"$ref": "#/$defs/Other"}, "5"),
        ("5", {"$ref": "elsewhere"}, "5"),
    ],
)
def test_typed(text: str, schema: dict[str, Any] | None, value: object) -> None:
    assert json.dumps(typed(text, schema, ROOT)) == json.dumps(value)


def test_a_schema_that_refers_to_itself() -> None:
    root = {"$defs": {"Node": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "integer"}]}}}
    assert typed("5", {"$ref": "#/$defs/Node"}, root) == 5
