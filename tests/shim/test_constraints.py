"""The values of `format`, with the text of the error."""

from __future__ import annotations

import pytest

from runtime.options import Constraint
from shim.constraints import of_format
from shim.errors import ApiError


@pytest.mark.parametrize("raw", ["", "null", '""', " null\n"])
def test_off(raw: str) -> None:
    assert of_format(raw, "</think>") is None


def test_json_is_any_object() -> None:
    assert of_format('"json"') == Constraint("json")
    assert of_format('"json"', "</think>", "<think>") == Constraint("json", "", "</think>", "<think>")


def test_an_object_is_a_schema_kept_as_it_is_written() -> None:
    raw = '{"type":  "object", "properties": {"b": {}, "a": {}}}'
    assert of_format(raw, "</t>") == Constraint("json_schema", raw, "</t>")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ('"xml"', r'"\"xml\""'),
        ("true", '"true"'),
        ("[]", '"[]"'),
        ("3", '"3"'),
        ('"JSON"', r'"\"JSON\""'),
    ],
)
def test_anything_else_is_refused(raw: str, shown: str) -> None:
    with pytest.raises(ApiError) as caught:
        of_format(raw)
    assert caught.value.status == 500
    assert caught.value.message == (f'invalid format: {shown}; expected "json" or a valid JSON Schema object')
