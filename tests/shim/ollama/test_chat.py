"""`/api/chat`: bodies in, bytes out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from modelfiles.messages import Message, ToolCall
from runtime.events import TokenLogprob
from shim.bodies import decode
from shim.errors import ApiError
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.generation import Settled, Shown
from shim.gojson import encode
from shim.ollama.answers import Stamps
from shim.ollama.chat import answer_at_once, chat_request, collect, stream
from shim.ollama.fields import CHAT
from shim.requests import ChatRequest

NOON = 1_787_313_600_000_000_000
METRICS = Metrics(1000, 5, 9, 10, 2, 20)
CALL = ToolCall("f", {"city": "Paris"}, id="call_a1b2c3d4", index=0)
REQUEST = ChatRequest(model="m")


def request(**body: object) -> ChatRequest:
    return chat_request(decode(json.dumps(body).encode(), CHAT))


def stamps() -> Stamps:
    return Stamps(lambda: NOON)


async def said(*events: Event) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


def test_a_whole_request() -> None:
    wanted = request(
        model="M:Q4",
        messages=[
            {"role": "USER", "content": "hi", "images": ["aGk="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "hm",
                "tool_calls": [
                    {"id": "c1", "function": {"index": 1, "name": "f", "arguments": {"b": 1, "a": 2}}}
                ],
            },
            {"role": "tool", "content": "r", "tool_name": "f", "tool_call_id": "c1"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"default": 1}}}],
        stream=False,
        think="high",
        keep_alive="1m",
        truncate=False,
        shift=False,
        options={"seed": 1},
        logprobs=True,
        top_logprobs=2,
        _debug_render_only=True,
    )
    assert wanted.messages == (
        Message("user", "hi", images=(b"hi",)),
        Message("assistant", thinking="hm", tool_calls=(ToolCall("f", {"b": 1, "a": 2}, id="c1", index=1),)),
        Message("tool", "r", tool_name="f", tool_call_id="c1"),
    )
    assert [tool.name for tool in wanted.tools] == ["f"]
    assert (wanted.model, wanted.think, wanted.keep_alive, wanted.stream) == ("M:Q4", "high", 60.0, False)
    assert (wanted.truncate, wanted.shift, wanted.logprobs, wanted.top_logprobs) == (False, False, True, 2)
    assert wanted.options == {"seed": 1}
    assert wanted.debug_render_only


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": [], "tools": [], "options": {}, "format": "", "keep_alive": "", "think": ""},
        {"messages": None, "tools": None, "options": None, "format": None, "keep_alive": None, "think": None},
        {"unknown": 1, "tool_choice": "auto", "format": {}},
    ],
)
def test_nothing_given(body: dict[str, object]) -> None:
    assert request(**body) == ChatRequest(model="", options={})


def test_messages_of_careless_clients() -> None:
    wanted = request(
        messages=[
            {"role": "user", "content": None},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}], "images": None},
            {"role": "tool", "content": "r", "tool_calls": []},
            {},
        ]
    )
    assert wanted.messages == (
        Message("user"),
        Message("assistant", tool_calls=(ToolCall("f", index=None),)),
        Message("tool", "r"),
        Message(""),
    )


def test_structures() -> None:
    assert request(format="json").format == '"json"'
    assert json.loads(request(format={"type": "object"}).format) == {"type": "object"}


def test_arguments_as_text_are_refused() -> None:
    call = {"function": {"name": "f", "arguments": "{}"}}
    with pytest.raises(ApiError, match="Value looks like object"):
        request(messages=[{"role": "assistant", "tool_calls": [call]}])


async def test_lines() -> None:
    events = said(
        Thinking("hm"),
        Content("Hi <b>"),
        Calls((CALL,)),
        Content("", [TokenLogprob("x", b"x", -0.5)]),
        Done("stop", METRICS),
    )
    lines = [line async for line in stream(REQUEST, events, stamps())]
    opening = '{"model":"m","created_at":"2026-08-21T12:00:00Z","message":{"role":"assistant","content":'
    assert b"".join(lines).decode() == (
        f'{opening}"","thinking":"hm"}},"done":false}}\n'
        f'{opening}"Hi \\u003cb\\u003e"}},"done":false}}\n'
        f'{opening}"","tool_calls":[{{"id":"call_a1b2c3d4","function":{{"index":0,"name":"f",'
        '"arguments":{"city":"Paris"}}}]},"done":false}\n'
        f'{opening}""}},"done":false,"logprobs":[{{"token":"x","logprob":-0.5,"bytes":[120]}}]}}\n'
        f'{opening}""}},"done":true,"done_reason":"stop","total_duration":1000,"load_duration":5,'
        '"prompt_eval_count":9,"prompt_eval_duration":10,"eval_count":2,"eval_duration":20}\n'
    )


async def test_one_body() -> None:
    events = said(
        Thinking("h"),
        Thinking("m"),
        Content("Hi", [TokenLogprob("Hi", b"Hi", -0.5)]),
        Calls((CALL,)),
        Content("."),
        Done("length", METRICS),
    )
    body = encode(await collect(REQUEST, events, stamps())).decode()
    assert body == (
        '{"model":"m","created_at":"2026-08-21T12:00:00Z","message":{"role":"assistant","content":"Hi.",'
        '"thinking":"hm","tool_calls":[{"id":"call_a1b2c3d4","function":{"index":0,"name":"f",'
        '"arguments":{"city":"Paris"}}}]},"done":true,"done_reason":"length",'
        '"logprobs":[{"token":"Hi","logprob":-0.5,"bytes":[72,105]}],"total_duration":1000,"load_duration":5,'
        '"prompt_eval_count":9,"prompt_eval_duration":10,"eval_count":2,"eval_duration":20}'
    )


def test_answers_that_no_model_writes() -> None:
    opening = '{"model":"m","created_at":"2026-08-21T12:00:00Z","message":'
    assert encode(answer_at_once(REQUEST, Settled("load"), stamps())).decode() == (
        opening + '{"role":"assistant","content":""},"done":true,"done_reason":"load"}'
    )
    assert encode(answer_at_once(REQUEST, Shown("<p>", 0), stamps())).decode() == (
        opening
        + '{"role":"","content":""},"done":false,"_debug_info":{"rendered_template":"\\u003cp\\u003e"}}'
    )


async def test_errors_pass_and_the_source_is_closed() -> None:
    closed = []

    async def broken() -> AsyncGenerator[Event, None]:
        try:
            yield Content("a")
            raise ApiError(500, "broken")
        finally:
            closed.append(True)

    with pytest.raises(ApiError, match="broken"):
        await collect(REQUEST, broken(), stamps())
    lines = stream(REQUEST, broken(), stamps())
    await anext(lines)
    await lines.aclose()
    assert closed == [True, True]
