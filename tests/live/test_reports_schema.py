"""What people reported as broken about answers bound to a schema.

Each test is a case of `tests/data/reports.jsonl`; its number is in the name. The model has random weights, so
that only the constraint can make its output right.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.live.jobs import chat, text_of
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = range(1, 11)
LABEL = {"type": "string", "enum": ["fragile", "heavy", "plain"]}
CRATE = {
    "type": "object",
    "properties": {"label": {"$ref": "#/$defs/Label"}},
    "required": ["label"],
    "additionalProperties": False,
}
ORDERS = ({"Crate": CRATE, "Label": LABEL}, {"Label": LABEL, "Crate": CRATE})
BOUNDS = {
    "type": "object",
    "properties": {
        "none": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
        "three": {"type": "array", "items": {"enum": [*range(10)]}, "minItems": 3, "maxItems": 3},
        "some": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    },
    "required": ["none", "three", "some"],
    "additionalProperties": False,
}
# Each with what a refusal must name.
BAD = {
    "bracket": ({"pattern": "[a-"}, ("[a-", "pattern", "word")),
    "quantifier": ({"pattern": "+a"}, ("+a", "pattern", "word")),
    "look-ahead": ({"pattern": "(?=a)b"}, ("(?=a)b", "pattern", "word")),
    "reference": ({"$ref": "#/$defs/Nowhere"}, ("Nowhere", "ref", "word")),
}


@pytest.fixture(scope="module")
def hybrid(server: ShimServer, tiny_qwen35moe_gguf: Path) -> ShimServer:
    server.create("hybrid", tiny_qwen35moe_gguf, "TEMPLATE {{ .Prompt }}")
    return server


def object_of(*, definitions: dict[str, Any]) -> dict[str, Any]:
    references = {"a": {"$ref": "#/$defs/Crate"}, "b": {"$ref": "#/$defs/Label"}}
    return {
        "$defs": definitions,
        "type": "object",
        "properties": references,
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def answered(server: ShimServer, schema: dict[str, Any], seed: int) -> dict[str, Any]:
    body = chat("hybrid", "Say something", temperature=1, num_predict=300, seed=seed, num_ctx=2048)
    status, answer = server.call("POST", "/api/chat", {**body, "format": schema})
    assert status == 200, answer
    assert answer["done_reason"] == "stop"
    jsonschema_rs.validate(schema, json.loads(answer["message"]["content"]))
    assert isinstance(answer, dict)
    return answer


def test_10_definitions_may_come_in_any_order(hybrid: ShimServer) -> None:
    for seed in SEEDS:
        texts = {text_of([answered(hybrid, object_of(definitions=order), seed)]) for order in ORDERS}
        assert len(texts) == 1


def test_11_bounds_of_arrays_hold(hybrid: ShimServer) -> None:
    for seed in SEEDS:
        found = json.loads(text_of([answered(hybrid, BOUNDS, seed)]))
        assert found["none"] == []
        assert len(found["three"]) == 3
        assert 2 <= len(found["some"]) <= 4


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", sorted(BAD))
def test_12_what_cannot_be_enforced_is_refused(server: ShimServer, name: str, stream: bool) -> None:
    definition, named = BAD[name]
    word = definition if "$ref" in definition else {"type": "string", **definition}
    schema = {
        "type": "object",
        "properties": {"word": word},
        "required": ["word"],
        "additionalProperties": False,
    }
    plain = chat("dense", "Hello", num_predict=4)
    assert server.call("POST", "/api/chat", plain)[0] == 200
    before = server.workers()
    body = {**chat("dense", "Say b.", num_predict=64, stream=stream), "format": schema}
    status, data = server.call_bytes("POST", "/api/chat", json.dumps(body).encode())
    if status == 200:
        text = text_of([json.loads(line) for line in data.splitlines()])
        jsonschema_rs.validate(schema, json.loads(text))
    else:
        assert any(part in json.loads(data)["error"] for part in named), data
    assert server.call("POST", "/api/chat", plain)[0] == 200
    assert server.workers() == before
