"""What is left out of a schema before it is compiled."""

import json
from typing import Any

import pytest

from runtime.errors import BadOptions
from runtime.json_schemas import MOST_SCHEMA_BYTES, read_schema


def ready(schema: Any) -> dict[str, Any]:
    return read_schema(json.dumps(schema))


def test_what_only_annotates_is_left_out() -> None:
    schema = {
        "$schema": "http://example.com/own",
        "type": "object",
        "properties": {
            "a": {"type": "string", "format": "password"},
            "b": {"type": "string", "format": "date"},
        },
    }
    assert ready(schema) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string", "format": "date"}},
        "additionalProperties": False,
    }


def test_known_dialects_stay() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    assert ready(schema) == schema


@pytest.mark.parametrize("name", ["uniqueItems", "format", "minItems", "$schema", "nullable"])
def test_properties_of_such_names_stay(name: str) -> None:
    schema = {"properties": {name: {"type": "string"}}, "required": [name]}
    assert ready(schema) == schema


def test_values_are_not_schemas() -> None:
    schema = {"enum": [{"format": "x", "uniqueItems": True}], "default": {"minItems": 0}}
    assert ready(schema) == schema


def test_without_effect() -> None:
    schema = {"anyOf": [{"type": "array", "minItems": 0, "uniqueItems": True, "items": {"minLength": 0}}]}
    assert ready(schema) == {"anyOf": [{"type": "array", "items": {}}]}
    assert ready({"minItems": False, "minLength": 1}) == {"minItems": False, "minLength": 1}


def test_nullable() -> None:
    assert ready({"type": "string", "nullable": True, "enum": ["a"]}) == {
        "type": ["string", "null"],
        "enum": ["a", None],
    }
    assert ready({"type": ["string", "null"], "nullable": True}) == {"type": ["string", "null"]}
    assert ready({"type": "string", "nullable": False}) == {"type": "string", "nullable": False}


def test_listed_properties_are_all_of_them() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": inner},
            "type": {"type": "string"},
            "properties": inner,
        },
        "$defs": {"d": inner},
    }
    told = ready(schema)
    assert told["additionalProperties"] is False
    assert "additionalProperties" not in told["properties"]
    assert told["properties"]["a"]["items"]["additionalProperties"] is False
    assert told["properties"]["properties"]["additionalProperties"] is False
    assert told["$defs"]["d"]["additionalProperties"] is False


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "integer"}},
        {"patternProperties": {"^x": {}}},
        {"anyOf": [{"required": ["b"]}]},
        {"$ref": "#/$defs/d"},
    ],
)
def test_objects_that_say_more_of_others_stay_open(more: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, **more}
    assert ready(schema).get("additionalProperties") == more.get("additionalProperties")


def test_parts_of_all_of_do_not_exclude_each_other() -> None:
    part = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"allOf": [part, {"type": "object", "properties": {"b": {"type": "string"}}}]}
    assert ready(schema) == schema


def test_true_is_any_value() -> None:
    assert read_schema("true") == {}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("false", "has to be an object"),
        ("[]", "has to be an object"),
        ('{"a":', "is not JSON"),
        ('{"items":' * 200_000 + "1", "larger than"),
        ('{"items":' * 20_000 + "{}" + "}" * 20_000, "nested too deeply"),
        ('{"a": "' + "x" * MOST_SCHEMA_BYTES + '"}', "larger than 256 KiB"),
    ],
)
def test_refused(source: str, text: str) -> None:
    with pytest.raises(BadOptions, match=text):
        read_schema(source)
