"""Anthropic's endpoints over HTTP, answered by the engine without weights: bodies, events, errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.shim.serving import CAPABLE, Served, serving

CALL = '<tool_call>\n{"name": "roll", "arguments": {"sides": 6}}\n</tool_call>'
ROLL: dict[str, Any] = {
    "name": "roll",
    "description": "Roll a die",
    "input_schema": {
        "type": "object",
        "properties": {"sides": {"type": "integer"}},
        "required": ["sides"],
    },
}
OFF = {"type": "disabled"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        await running.create("m", CAPABLE, parameters={"stop": ["<|im_end|>"]})
        yield running


def say(text: str, **fields: object) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": f"[[fake:say]]{text}[[fake:end]]"}]}
    return {"model": "m", "max_tokens": 200, "messages": [message], "thinking": OFF, **fields}


async def events(served: Served, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream, whose names must be their types."""
    async with served.client.post("/v1/messages?beta=true", json={**body, "stream": True}) as answer:
        text = await answer.text()
        assert answer.status == 200, text
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


async def test_a_whole_answer(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/messages", say("Grüß Gott"))
    assert status == 200
    assert answer["content"] == [{"type": "text", "text": "Grüß Gott"}]
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
    assert answer["usage"]["input_tokens"] > 0
    assert answer["usage"]["output_tokens"] > 0


async def test_an_empty_answer_is_a_list(served: Served) -> None:
    _, answer = await served.call("POST", "/v1/messages", say(""))
    assert answer["content"] == []


async def test_a_stream_of_blocks(served: Served) -> None:
    body = say(f"<think>hm</think>Sure. {CALL}", tools=[ROLL], thinking={"type": "enabled"})
    found = await events(served, body)
    kinds = [event["type"] for event in found]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert found[0]["message"]["content"] == []
    assert found[0]["message"]["usage"]["input_tokens"] > 0
    started = [event["content_block"]["type"] for event in found if event["type"] == "content_block_start"]
    assert started == ["thinking", "text", "tool_use"]
    assert [event["index"] for event in found if event["type"] == "content_block_stop"] == [0, 1, 2]
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert "".join(delta.get("thinking", "") for delta in deltas) == "hm"
    assert "".join(delta.get("text", "") for delta in deltas) == "Sure."
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"sides":6}'
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    assert found[-2]["usage"]["output_tokens"] > 0


async def test_the_same_whole(served: Served) -> None:
    body = say(f"<think>hm</think>Sure. {CALL}", tools=[ROLL], thinking={"type": "enabled"})
    _, answer = await served.call("POST", "/v1/messages", body)
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
    assert answer["content"][2]["input"] == {"sides": 6}
    assert answer["stop_reason"] == "tool_use"


async def test_what_is_cut_says_so(served: Served) -> None:
    body = say("<think>" + "hm " * 50, max_tokens=12, thinking={"type": "enabled"})
    _, answer = await served.call("POST", "/v1/messages", body)
    assert answer["stop_reason"] == "max_tokens"
    assert [block["type"] for block in answer["content"]] == ["thinking"]


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "roll"}])
async def test_a_forced_call(served: Served, choice: object) -> None:
    body = say("I would rather talk.", tools=[ROLL], tool_choice=choice)
    _, answer = await served.call("POST", "/v1/messages", body)
    (block,) = answer["content"]
    assert block["name"] == "roll"
    assert isinstance(block["input"]["sides"], int)


async def test_one_call_only(served: Served) -> None:
    body = say(CALL + CALL, tools=[ROLL], tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    _, answer = await served.call("POST", "/v1/messages", body)
    assert len(answer["content"]) == 1


async def test_results_go_back_and_system_text_may_stand_anywhere(served: Served) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "roll", "input": {"sides": 6}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "4", "is_error": False}
    done = {"type": "text", "text": "[[fake:say]]done[[fake:end]]", "cache_control": {"type": "ephemeral"}}
    body = say("go", tools=[ROLL], system=[{"type": "text", "text": "Be brief."}])
    body["messages"] += [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}, use]},
        {"role": "system", "content": "Now."},
        {"role": "user", "content": [result, done]},
    ]
    _, answer = await served.call("POST", "/v1/messages", body)
    assert answer["content"] == [{"type": "text", "text": "done"}]


async def test_tokens_are_counted_as_they_will_be_read(served: Served) -> None:
    body = say("hello", tools=[ROLL], system="Be brief.")
    _, answer = await served.call("POST", "/v1/messages", body)
    _, counted = await served.call("POST", "/v1/messages/count_tokens", body)
    assert counted == {"input_tokens": answer["usage"]["input_tokens"]}
    long = say("x " * 9000)
    _, counted = await served.call("POST", "/v1/messages/count_tokens", long)
    assert counted["input_tokens"] > 9000


async def test_what_is_too_long_is_told_in_words_that_clients_know(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/messages", say("x " * 9000, stream=True))
    assert status == 400
    assert answer["error"]["message"].startswith("prompt is too long: ")
    assert answer["error"]["message"].endswith(" tokens > 4096 maximum")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"model": ""}, "model is required"),
        ({"max_tokens": None}, "max_tokens is required and must be positive"),
        ({"messages": []}, "messages is required"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]},
            "no tool was called before",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}]},
            "tool_use block missing required 'id' field",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]},
            "invalid image source type: url. Only base64 images are supported.",
        ),
        ({"tools": [{"name": "f", "input_schema": 3}]}, 'invalid input_schema for tool "f"'),
        ({"tools": [ROLL], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name"),
        ({"temperature": "hot"}, "temperature must be a number"),
    ],
)
async def test_what_is_refused(served: Served, fields: dict[str, Any], text: str) -> None:
    status, answer = await served.call("POST", "/v1/messages", say("x", **fields))
    assert status == 400, answer
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert text in answer["error"]["message"]


async def test_unknown_models(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/messages", say("x", model="nobody"))
    assert (status, answer["error"]) == (
        404,
        {"type": "not_found_error", "message": "model 'nobody' not found"},
    )


async def test_trouble_in_a_stream_is_told_in_it(served: Served) -> None:
    body = say("", stream=True)
    body["messages"][0]["content"] = "[[fake:words=2]][[fake:die=abort@2]]"
    async with served.client.post("/v1/messages", json=body) as answer:
        text = await answer.text()
    name, data = text.removesuffix("\n\n").split("\n\n")[-1].split("\n")
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"]["type"] == "api_error"


async def test_thinking_is_asked_only_of_models_that_can(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        await running.create("plain")
        body = say("x", model="plain", thinking={"type": "enabled", "budget_tokens": 32})
        status, answer = await running.call("POST", "/v1/messages", body)
    assert status == 200, answer
