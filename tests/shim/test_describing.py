"""The description names exactly the endpoints that there are, and is a valid OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from aiohttp import web

from shim.describing import operations
from shim.ollama import fields
from shim.openapi import describe, schema_of
from tests.shim.serving import serving


async def test_it_names_every_route_and_no_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        app = served.client.app
        assert app is not None
        routes = {(route.method, _path(route)) for route in app.router.routes()}
        status, document = await served.call("GET", "/openapi.json")
    assert status == 200
    described = {(method.upper(), path) for path, entry in document["paths"].items() for method in entry}
    assert described == routes
    assert described == {(operation.method, operation.path) for operation in operations()}


def _path(route: web.AbstractRoute) -> str:
    assert route.resource is not None
    return route.resource.canonical


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(describe(operations(), "1.2.3")))
    return found


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return here + [found for inner in value.values() for found in references(inner)]
    return [found for inner in value for found in references(inner)] if isinstance(value, list) else []


def test_every_reference_leads_somewhere() -> None:
    made = document()
    targets = {f"#/components/schemas/{name}" for name in made["components"]["schemas"]}
    assert set(references(made)) <= targets
    assert "#/components/schemas/Message" in references(made)


def test_names_of_operations_differ() -> None:
    names = [entry["operationId"] for path in document()["paths"].values() for entry in path.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "operation", [known for known in operations() if known.examples], ids=lambda o: o.path
)
def test_examples_fit_their_schema(operation: Any) -> None:
    shapes: dict[str, Any] = {}
    schema = schema_of(operation.body, shapes)
    whole = {**schema, "components": {"schemas": shapes}}
    for example in operation.examples:
        jsonschema_rs.validate(whole, dict(example))


def test_what_a_request_may_hold_comes_from_the_declared_fields() -> None:
    shapes = document()["components"]["schemas"]
    assert set(shapes["ChatRequest"]["properties"]) == set(fields.CHAT.by_name)
    assert shapes["ChatRequest"]["properties"]["messages"]["items"] == {
        "$ref": "#/components/schemas/Message"
    }
    assert shapes["Message"]["properties"]["images"]["items"]["contentEncoding"] == "base64"
    assert "max" in shapes["ChatRequest"]["properties"]["think"]["enum"]
