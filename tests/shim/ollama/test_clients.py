"""Requests of real clients (`client_requests.jsonl`), replayed; each must find the fields that it reads.

And the official Python client itself, doing everything that it can do here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import ollama
import pytest
from aiohttp import ClientTimeout

from tests.shim.serving import CAPABLE, Served, serving

DATA = Path(__file__).parents[2] / "data"
ABSENT = {
    "/api/v0": "needs LM Studio's dialect",
    "/llm": "needs LM Studio's dialect",
}  # fmt: skip


def as_parameter(case: dict[str, Any]) -> Any:
    """The case, marked where it needs what is not there; strictly, so that the mark goes when it comes."""
    reason = next((why for path, why in ABSENT.items() if case["path"].startswith(path)), None)
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(case, id=case["id"], marks=marks)


# Pulls and pushes need a registry: see test_transferring; the others speak other dialects.
ELSEWHERE = ("/api/pull", "/api/push", "/v1/")
RECORDED = [*map(json.loads, (DATA / "client_requests.jsonl").read_text().splitlines())]
CASES = [case for case in RECORDED if not case["path"].startswith(ELSEWHERE)]
EMPTY = "sha256:" + hashlib.sha256(b"").hexdigest()
# Fields that are there only when the answer has something to say.
OPTIONAL = ("thinking", "tool_calls", "logprobs", "remote_model", "error", "license", "system",
            "projector_info", "context", "parameters")  # fmt: skip


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        yield running


def found(value: Any, path: list[str]) -> Iterator[Any]:
    """All values at a path such as models[].details.family; a star matches the end of a key."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step.endswith("[]"):
        for inner in value[step[:-2]] or []:
            yield from found(inner, rest)
    elif step.startswith(("*", "<")) or (step == "general" and isinstance(value, dict)):
        ending = ".".join(path).replace("<arch>", "").removeprefix("*").removeprefix(".")
        yield from (inner for key, inner in value.items() if key.endswith(ending))
    elif isinstance(value, dict) and step in value:
        yield from found(value[step], rest)
    elif isinstance(value, dict) and "models" in value:
        yield from (inner for model in value["models"] for inner in found(model, path))


def missing(answer: Any, reads: list[str]) -> list[str]:
    """The fields that the client would look for in vain."""
    wanted = [
        field
        for field in reads
        if field not in ("status code", "body", "status code 201 or 200")
        and not any(step.removesuffix("[]") in OPTIONAL for step in field.split("."))
    ]
    return [
        field for field in wanted if None in (values := list(found(answer, field.split(".")))) or not values
    ]


async def replay(served: Served, case: dict[str, Any]) -> tuple[int, bytes]:
    body = case["body"]
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    headers = {name: value for name, value in case["headers"].items() if name.lower() != "accept-encoding"}
    async with served.client.request(
        case["method"], case["path"], data=data, headers=headers, timeout=ClientTimeout(total=30)
    ) as answer:
        return answer.status, await answer.read()


@pytest.mark.parametrize("case", [*map(as_parameter, CASES)])
async def test_every_recorded_request_is_served(served: Served, case: dict[str, Any]) -> None:
    model = (
        (case["body"] or {}).get("model") or case["body"].get("name")
        if isinstance(case["body"], dict)
        else "m"
    )
    await served.create(str(model or "m"), CAPABLE, parameters={"num_predict": 8, "stop": ["<|im_end|>"]})
    if case["body"] and "from" in case["body"]:
        await served.create(str(case["body"]["from"]), CAPABLE)
    status, data = await replay(served, case)
    assert status < 500, data
    if status >= 400:
        assert isinstance(json.loads(data)["error"], str)
        return
    lines = [json.loads(line) for line in data.splitlines()] if data.startswith(b"{") else [{}]
    assert "error" not in lines[-1]
    if case["path"] != "/api/ps":
        assert missing(lines[-1], case["reads"]) == []
    for line in lines:
        check_line(case["path"], line)


def check_line(path: str, line: dict[str, Any]) -> None:
    """What the strictest reader of all insists on in every line."""
    if path == "/api/chat":
        assert isinstance(line["created_at"], str)
        assert line["message"]["role"] == "assistant"
        assert isinstance(line["message"]["content"], str)
        assert not {"type", "response", "error"} & line.keys()
    if path in ("/api/chat", "/api/generate"):
        assert isinstance(line["model"], str)
        assert isinstance(line["done"], bool)


async def test_the_official_client_does_everything(served: Served) -> None:
    host = str(served.client.make_url("/"))
    async with ollama.AsyncClient(host=host, trust_env=False) as client:
        await talk(client, served)


async def talk(client: ollama.AsyncClient, served: Served) -> None:
    await served.create("small", CAPABLE, system="Be brief.", parameters={"num_predict": 12})
    messages = [{"role": "user", "content": "hi"}]

    whole = await client.chat("small", messages)
    assert whole.message.content
    assert (whole.done, whole.done_reason) == (True, "length")
    pieces = [part async for part in await client.chat("small", messages, stream=True)]
    assert "".join(part.message.content or "" for part in pieces) == whole.message.content
    assert pieces[-1].eval_count == whole.eval_count == 12

    generated = await client.generate("small", "hi", options={"temperature": 0})
    assert generated.response
    assert generated.context
    streamed = [part async for part in await client.generate("small", "hi", stream=True)]
    assert "".join(part.response or "" for part in streamed)

    running = await client.ps()
    assert [model.name for model in running.models] == ["small:latest"]
    shown = await client.show("small")
    assert shown.modelinfo is not None
    assert shown.capabilities == ["tools", "thinking", "completion"]
    await client.copy("small", "other")
    await client.create("third", from_="small", system="Be long.", stream=False)
    listed = await client.list()
    assert sorted(str(model.model) for model in listed.models) == [
        "other:latest",
        "small:latest",
        "third:latest",
    ]
    await client.delete("other")
    with pytest.raises(ollama.ResponseError, match="model 'nobody' not found") as caught:
        await client.chat("nobody", messages)
    assert caught.value.status_code == 404
