"""Requests of real clients to `/v1` (`client_requests.jsonl`), replayed over the engine without weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientTimeout

from tests.shim.serving import CAPABLE, serving

DATA = Path(__file__).parents[1] / "data" / "client_requests.jsonl"
SPOKEN = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/models", "/v1/messages",
          "/v1/responses")  # fmt: skip
CASES = [case for case in map(json.loads, DATA.read_text().splitlines()) if case["path"].startswith(SPOKEN)]
IMAGES = ("oai-chat-image", "ant-image-cache")  # which no model can look at yet


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_every_recorded_request_is_served(tmp_path: Path, case: dict[str, Any]) -> None:
    body = case["body"]
    headers = {name: value for name, value in case["headers"].items() if name.lower() != "accept-encoding"}
    async with serving(tmp_path) as served:
        model = str((body or {}).get("model", "m"))
        await served.create(model, CAPABLE, parameters={"num_predict": 8, "stop": ["<|im_end|>"]})
        async with served.client.request(
            case["method"],
            case["path"],
            data=json.dumps(body).encode() if body is not None else None,
            headers=headers,
            timeout=ClientTimeout(total=30),
        ) as answer:
            text = await answer.text()
            if case["id"] in IMAGES:
                assert answer.status == 400
                assert "image input is not supported" in json.loads(text)["error"]["message"]
                return
            assert answer.status == 200, text
    if body and body.get("stream"):
        events = list(items(text))
        assert events
        assert not any("error" in event for event in events)
    else:
        assert json.loads(text).get("error") is None


def items(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a stream of events; comments and the end mark are none."""
    for line in text.splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))
