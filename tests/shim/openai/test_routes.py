"""OpenAI's endpoints over HTTP, answered by the engine without weights: bodies, streams, errors."""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.shim.serving import CAPABLE, Served, serving

CALL = '<tool_call>\n{"name": "roll", "arguments": {"sides": 6}}\n</tool_call>'
ROLL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "roll",
        "description": "Roll a die",
        "parameters": {
            "type": "object",
            "properties": {"sides": {"type": "integer"}, "label": {"enum": ["a", "b"]}},
            "required": ["sides"],
        },
    },
}
STOP = {"role": "user", "content": "[[fake:say]]done[[fake:end]]"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        await running.create("m", CAPABLE, parameters={"stop": ["<|im_end|>"]})
        yield running


def say(text: str, **fields: object) -> dict[str, Any]:
    message = {"role": "user", "content": f"[[fake:say]]{text}[[fake:end]]"}
    return {"model": "m", "messages": [message], "reasoning_effort": "none", **fields}


async def events(served: Served, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of a stream, which must end as it should."""
    async with served.client.post(path, json={**body, "stream": True}) as answer:
        text = await answer.text()
        assert answer.status == 200, text
        assert answer.content_type == "text/event-stream"
    *chunks, end, rest = text.split("\n\n")
    assert (end, rest) == ("data: [DONE]", "")
    return [json.loads(chunk.removeprefix("data: ")) for chunk in chunks]


async def refused(served: Served, path: str, body: dict[str, Any]) -> tuple[int, str]:
    status, answer = await served.call("POST", path, body)
    assert status >= 400, answer
    assert answer["error"].keys() == {"message", "type", "param", "code"}
    return status, answer["error"]["message"]


async def test_a_whole_answer(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/chat/completions", say("Grüß Gott"))
    assert status == 200
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "m"
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Grüß Gott"}
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    usage = answer["usage"]
    assert usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_a_stream(served: Served) -> None:
    chunks = await events(served, "/v1/chat/completions", say("Grüß Gott"))
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Grüß Gott"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    assert not any("usage" in chunk for chunk in chunks)


async def test_usage_comes_last_where_it_is_wanted(served: Served) -> None:
    body = say("hi", stream_options={"include_usage": True})
    *_, last = await events(served, "/v1/chat/completions", body)
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] > 0


async def test_thinking_has_both_names_and_is_no_content(served: Served) -> None:
    body = say("<think>hm</think>yes", reasoning_effort="low")
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning"], message["reasoning_content"]) == ("yes", "hm", "hm")
    chunks = await events(served, "/v1/chat/completions", body)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("reasoning", "") for delta in deltas) == "hm"
    assert "".join(delta.get("content", "") for delta in deltas) == "yes"


async def test_an_answer_that_is_cut_inside_its_thinking_says_so(served: Served) -> None:
    body = say("<think>" + "hm " * 50, reasoning_effort="low", max_completion_tokens=12)
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    choice = answer["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", "")


async def test_calls(served: Served) -> None:
    body = say(f"Sure. {CALL}{CALL}", tools=[ROLL])
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Sure."
    first, second = choice["message"]["tool_calls"]
    assert (first["type"], first["index"], second["index"]) == ("function", 0, 1)
    assert first["function"] == {"name": "roll", "arguments": '{"sides":6}'}
    assert first["id"] != second["id"]


async def test_calls_in_a_stream(served: Served) -> None:
    chunks = await events(served, "/v1/chat/completions", say(CALL + CALL, tools=[ROLL]))
    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [call["index"] for call in calls] == [0, 1]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_one_call_only_where_the_client_takes_one_at_a_time(served: Served) -> None:
    body = say(CALL + CALL, tools=[ROLL], parallel_tool_calls=False)
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    assert len(answer["choices"][0]["message"]["tool_calls"]) == 1
    chunks = await events(served, "/v1/chat/completions", body)
    assert sum("tool_calls" in chunk["choices"][0]["delta"] for chunk in chunks) == 1


async def test_no_tools_where_none_may_be_called(served: Served) -> None:
    body = say(CALL, tools=[ROLL], tool_choice="none")
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": CALL}


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "roll"}}])
async def test_a_forced_call(served: Served, choice: object) -> None:
    body = say("I would rather talk.", tools=[ROLL], tool_choice=choice)
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    (choice_,) = answer["choices"]
    assert choice_["finish_reason"] == "tool_calls", answer
    (call,) = choice_["message"]["tool_calls"]
    assert call["function"]["name"] == "roll"
    assert isinstance(json.loads(call["function"]["arguments"])["sides"], int)


async def test_a_result_goes_back(served: Served) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": '{"sides": 6}'}}
    body = say("go", tools=[ROLL])
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "4"}]},
        STOP,
    ]
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    assert answer["choices"][0]["message"]["content"] == "done"


async def test_several_answers(served: Served) -> None:
    body = say("hi", n=3)
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    chunks = await events(served, "/v1/chat/completions", body)
    ends = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["finish_reason"]]
    assert [end["index"] for end in ends] == [0, 1, 2]


async def test_log_probabilities(served: Served) -> None:
    body = say("hi there", logprobs=True, top_logprobs=2)
    _, answer = await served.call("POST", "/v1/chat/completions", body)
    listed = answer["choices"][0]["logprobs"]["content"]
    assert "".join(item["token"] for item in listed) == "hi there"
    assert all(item.keys() == {"token", "logprob", "bytes", "top_logprobs"} for item in listed)
    chunks = await events(served, "/v1/chat/completions", body)
    found = [item for chunk in chunks for item in chunk["choices"][0].get("logprobs", {}).get("content", [])]
    assert [item["token"] for item in found] == [item["token"] for item in listed]


async def test_structure(served: Served) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    _, answer = await served.call("POST", "/v1/chat/completions", say("no", response_format=form))
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["a"], int)
    _, answer = await served.call("POST", "/v1/chat/completions", say("no", guided_choice=["red", "blue"]))
    assert answer["choices"][0]["message"]["content"] in ("red", "blue")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"messages": []}, "[] is too short - 'messages'"),
        ({"messages": [{"role": "user", "content": 3}]}, "invalid message content type: float64"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "4", "tool_call_id": "c"}]}, "messages[0].tool_call_id"),
        ({"model": ""}, "model is required"),
        ({"reasoning_effort": "lots"}, 'invalid reasoning value: "lots"'),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"n": 0}, "n must be between 1 and 128"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"tools": [ROLL], "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [ROLL], "tool_choice": {"function": {"name": "throw"}}}, "no tool of this request: throw"),
        ({"tool_choice": "required"}, "needs tools"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"top_logprobs": 99, "logprobs": True}, "top_logprobs must be between"),
    ],
)
async def test_what_is_refused(served: Served, fields: dict[str, Any], text: str) -> None:
    status, message = await refused(served, "/v1/chat/completions", say("x", **fields))
    assert status == 400
    assert text in message
    status, message = await refused(served, "/v1/chat/completions", say("x", stream=True, **fields))
    assert status == 400


async def test_what_is_too_long_is_told_before_a_stream_begins(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/chat/completions", say("x " * 9000, stream=True))
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")


async def test_unknown_models(served: Served) -> None:
    status, message = await refused(served, "/v1/chat/completions", say("x", model="nobody"))
    assert (status, message) == (404, "model 'nobody' not found")
    status, answer = await served.call("GET", "/v1/models/nobody")
    assert (status, answer["error"]["type"]) == (404, "not_found_error")


async def test_trouble_in_a_stream_is_told_in_it(served: Served) -> None:
    body = say("hello", stream=True)
    body["messages"][0]["content"] = "[[fake:words=2]][[fake:die=abort@2]]"
    async with served.client.post("/v1/chat/completions", json=body) as answer:
        *_, last, end = (await answer.text()).split("\n\n")
    assert end == ""
    assert "message" in json.loads(last.removeprefix("data: "))["error"]


async def test_models(served: Served) -> None:
    status, answer = await served.call("GET", "/v1/models")
    assert status == 200
    assert answer["object"] == "list"
    (model,) = answer["data"]
    assert (model["id"], model["object"], model["owned_by"]) == ("m:latest", "model", "library")
    _, one = await served.call("GET", "/v1/models/m")
    assert one["id"] == "m"
    assert one["created"] == model["created"]


async def test_embeddings(served: Served) -> None:
    _, plain = await served.call("POST", "/v1/embeddings", {"model": "m", "input": ["one", "two"]})
    assert [item["index"] for item in plain["data"]] == [0, 1]
    packed_body = {"model": "m", "input": ["one", "two"], "encoding_format": "base64"}
    _, packed = await served.call("POST", "/v1/embeddings", packed_body)
    vector = array("f", base64.b64decode(packed["data"][1]["embedding"]))
    assert list(vector) == pytest.approx(plain["data"][1]["embedding"])
    assert packed["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"input": []}, "invalid input"),
        ({"input": [[1, 2]]}, "invalid input type"),
        ({"encoding_format": "int8"}, "Supported values: ['float', 'base64']."),
        ({"model": "nobody"}, "model 'nobody' not found"),
    ],
)
async def test_embeddings_that_are_refused(served: Served, fields: dict[str, Any], text: str) -> None:
    body = {"model": "m", "input": "one", **fields}
    assert text in (await refused(served, "/v1/embeddings", body))[1]


async def test_completions(served: Served) -> None:
    body = {"model": "m", "prompt": "[[fake:say]]on and on[[fake:end]]"}
    _, answer = await served.call("POST", "/v1/completions", body)
    assert answer["object"] == "text_completion"
    assert answer["choices"][0]["text"] == "on and on"
    chunks = await events(served, "/v1/completions", {**body, "stream_options": {"include_usage": True}})
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks[:-1]) == "on and on"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] > 0


async def test_completions_of_several_prompts(served: Served) -> None:
    prompts = [f"[[fake:say]]{text}[[fake:end]]" for text in ("a", "b")]
    _, answer = await served.call("POST", "/v1/completions", {"model": "m", "prompt": prompts, "n": 2})
    assert [choice["text"] for choice in answer["choices"]] == ["a", "a", "b", "b"]


async def test_an_empty_prompt_only_loads(served: Served) -> None:
    _, answer = await served.call("POST", "/v1/completions", {"model": "m", "prompt": ""})
    assert answer["choices"][0]["finish_reason"] == "load"


async def test_keys_are_asked_for_in_this_dialect(tmp_path: Path) -> None:
    async with serving(tmp_path, SHIM_API_KEYS="secret") as running:
        status, answer = await running.call("GET", "/v1/models")
    assert (status, answer["error"]["type"]) == (401, "authentication_error")
