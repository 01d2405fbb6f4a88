"""`/v1/responses` over HTTP, answered by the engine without weights: items, events, conversations kept."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from modelfiles.messages import Message
from shim.errors import ApiError
from shim.openai.responses_input import messages, nested_tools
from shim.openai.stored import StoredResponses
from tests.shim.serving import CAPABLE, Served, serving

CALL = '<tool_call>\n{"name": "roll", "arguments": {"sides": 6}}\n</tool_call>'
ROLL: dict[str, Any] = {
    "type": "function",
    "name": "roll",
    "parameters": {
        "type": "object",
        "properties": {"sides": {"type": "integer"}},
        "required": ["sides"],
    },
}
OFF = {"effort": "none"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        await running.create("m", CAPABLE, parameters={"stop": ["<|im_end|>"]})
        yield running


def say(said: str, **fields: object) -> dict[str, Any]:
    return {"model": "m", "input": f"[[fake:say]]{said}[[fake:end]]", "reasoning": OFF, **fields}


async def events(served: Served, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream, named as their types and numbered."""
    async with served.client.post("/v1/responses", json={**body, "stream": True}) as answer:
        text = await answer.text()
        assert answer.status == 200, text
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    return found


async def test_a_whole_answer(served: Served) -> None:
    status, answer = await served.call("POST", "/v1/responses", say("Grüß Gott", instructions="Be brief."))
    assert status == 200
    (item,) = answer["output"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert item["content"] == [
        {"type": "output_text", "text": "Grüß Gott", "annotations": [], "logprobs": []}
    ]
    assert (answer["status"], answer["instructions"]) == ("completed", "Be brief.")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_a_stream_tells_the_same_items_as_its_end(served: Served) -> None:
    body = say(f"<think>hm</think>Sure. {CALL}", tools=[ROLL], reasoning={"effort": "low"})
    found = await events(served, body)
    assert [event["type"] for event in found[:2]] == ["response.created", "response.in_progress"]
    whole = found[-1]["response"]
    assert found[-1]["type"] == "response.completed"
    finished = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert finished == whole["output"]
    assert [item["type"] for item in finished] == ["reasoning", "message", "function_call"]
    opened = [event for event in found if event["type"] == "response.output_item.added"]
    assert [event["output_index"] for event in opened] == [0, 1, 2]
    assert [event["item"]["id"] for event in opened] == [item["id"] for item in finished]
    deltas = "".join(event["delta"] for event in found if event["type"] == "response.output_text.delta")
    assert deltas == "Sure."
    assert finished[2]["arguments"] == '{"sides":6}'
    assert finished[2]["call_id"].startswith("call_")
    assert whole["usage"]["output_tokens"] > 0


async def test_what_is_cut_says_so(served: Served) -> None:
    body = say("word " * 50, max_output_tokens=5)
    _, answer = await served.call("POST", "/v1/responses", body)
    assert answer["status"] == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}
    assert (await events(served, body))[-1]["type"] == "response.incomplete"


async def test_a_conversation_goes_on_by_its_id(served: Served) -> None:
    _, first = await served.call("POST", "/v1/responses", say(CALL, tools=[ROLL]))
    call_id = first["output"][0]["call_id"]
    output = {"type": "function_call_output", "call_id": call_id, "output": "4"}
    body = say("", tools=[ROLL], previous_response_id=first["id"])
    body["input"] = [output, {"role": "user", "content": "[[fake:say]]done[[fake:end]]"}]
    _, second = await served.call("POST", "/v1/responses", body)
    assert second["output"][0]["content"][0]["text"] == "done"
    assert second["previous_response_id"] == first["id"]
    assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]


async def test_what_was_not_to_be_kept_is_not_known(served: Served) -> None:
    _, first = await served.call("POST", "/v1/responses", say("hi", store=False))
    status, answer = await served.call("POST", "/v1/responses", say("x", previous_response_id=first["id"]))
    assert status == 400
    assert "not found" in answer["error"]["message"]


async def test_forced_calls_and_structure(served: Served) -> None:
    choice = {"type": "function", "name": "roll"}
    _, answer = await served.call("POST", "/v1/responses", say("no", tools=[ROLL], tool_choice=choice))
    (item,) = answer["output"]
    assert (item["type"], item["name"]) == ("function_call", "roll")
    form = {"type": "json_schema", "name": "x", "schema": ROLL["parameters"]}
    _, answer = await served.call("POST", "/v1/responses", say("no", text={"format": form}))
    assert "sides" in json.loads(answer["output"][0]["content"][0]["text"])


async def test_an_empty_text_only_loads(served: Served) -> None:
    body = {"model": "m", "input": "", "max_output_tokens": 1}
    assert (await served.call("POST", "/v1/responses", body))[0] == 200


async def test_trouble_in_a_stream_is_told_in_it(served: Served) -> None:
    body = {**say(""), "input": "[[fake:words=2]][[fake:die=abort@2]]", "stream": True}
    async with served.client.post("/v1/responses", json=body) as answer:
        text = await answer.text()
    assert text.removesuffix("\n\n").split("\n\n")[-1].startswith("event: response.failed\n")


def test_items_become_messages_again() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "roll", "arguments": '{"sides": 6}'}
    found = messages(
        [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": "go"},
            {"type": "reasoning", "summary": [], "encrypted_content": "hm"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Sure."}]},
            call,
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "4"}]},
        ]
    )
    assert [message.role for message in found] == ["developer", "user", "assistant", "tool"]
    assert (found[2].content, found[2].thinking) == ("Sure.", "hm")
    assert found[2].tool_calls[0].arguments == {"sides": 6}
    assert found[3] == Message("tool", "4", tool_name="roll", tool_call_id="c")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (3, "input must be a string or array"),
        ([{"content": "x"}], "input[0]: input item missing required 'type' field"),
        ([{"type": "dance"}], 'input[0]: unknown input item type: "dance"'),
        ([{"role": "user", "content": [{"type": "x"}]}], "input[0]: content[0]: unknown content type: x"),
        ([{"role": "user", "content": [{"type": "input_file"}]}], "file inputs are not currently supported"),
        ([{"type": "function_call", "name": "f", "arguments": "{"}], "failed to parse function"),
        ([{"type": "function_call_output", "call_id": "c"}], "input[0].call_id"),
    ],
)
def test_input_that_is_refused(given: object, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        messages(given)
    assert text in caught.value.message


def test_tools_in_a_namespace_get_its_name_in_front() -> None:
    tools = [{"type": "namespace", "name": "ns", "tools": [ROLL]}, {"type": "web_search"}, ROLL]
    names = [tool["function"] for tool in nested_tools(tools)]
    assert [function["name"] for function in names if isinstance(function, dict)] == ["ns.roll", "roll"]


def test_only_so_much_is_kept() -> None:
    stored = StoredResponses(most=2, most_characters=10)
    stored.put("a", (Message("user", "12345"),))
    stored.put("b", (Message("user", "1"),))
    assert stored.get("a") is not None
    stored.put("c", (Message("user", "1"),))
    assert stored.get("b") is None
    stored.put("d", (Message("user", "123456789"),))
    assert (stored.get("a"), stored.get("c") is None) == (None, False)
    stored.put("e", (Message("user", "12345678901"),))
    assert stored.get("e") is None
