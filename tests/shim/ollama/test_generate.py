"""`/api/generate`: bodies in, bytes out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob
from shim.bodies import decode
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.generation import Settled, Shown
from shim.gojson import encode
from shim.ollama.answers import Stamps
from shim.ollama.fields import GENERATE
from shim.ollama.generate import answer_at_once, collect, generate_request, stream
from shim.requests import GenerateRequest

NOON = 1_787_313_600_000_000_000
METRICS = Metrics(1000, 5, 9, 10, 2, 20)
REQUEST = GenerateRequest(model="m")
OPENING = '{"model":"m","created_at":"2026-08-21T12:00:00Z","response":'


def request(**body: object) -> GenerateRequest:
    return generate_request(decode(json.dumps(body).encode(), GENERATE))


def stamps() -> Stamps:
    return Stamps(lambda: NOON)


async def said(*events: Event) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


def test_a_whole_request() -> None:
    assert request(
        model="m",
        prompt="p",
        suffix="s",
        system="y",
        template="t",
        context=[1, 2],
        raw=True,
        images=["aGk="],
        keep_alive=-1.0,
        stream=False,
    ) == GenerateRequest(
        model="m",
        prompt="p",
        suffix="s",
        system="y",
        template="t",
        context=(1, 2),
        raw=True,
        images=(b"hi",),
        keep_alive=-1.0,
        stream=False,
        options={},
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": "", "suffix": "", "system": "", "template": "", "images": [], "options": {}, "format": ""},
        {"prompt": None, "suffix": None, "system": None, "template": None, "images": None, "context": None},
    ],
)
def test_nothing_given(body: dict[str, object]) -> None:
    assert request(**body) == GenerateRequest(model="", options={})


def test_an_empty_context_is_one() -> None:
    assert request(context=[]).context == ()


async def test_lines() -> None:
    events = said(
        Thinking("hm"),
        Content("Hi"),
        Content("!", [TokenLogprob("!", b"!", -1.0)]),
        Done("stop", METRICS, [1, 2]),
    )
    lines = [line async for line in stream(REQUEST, events, stamps())]
    assert b"".join(lines).decode() == (
        f'{OPENING}"","thinking":"hm","done":false}}\n'
        f'{OPENING}"Hi","done":false}}\n'
        f'{OPENING}"!","done":false,"logprobs":[{{"token":"!","logprob":-1,"bytes":[33]}}]}}\n'
        f'{OPENING}"","done":true,"done_reason":"stop","context":[1,2],"total_duration":1000,"load_duration":5,'
        '"prompt_eval_count":9,"prompt_eval_duration":10,"eval_count":2,"eval_duration":20}\n'
    )


async def test_one_body() -> None:
    call = ToolCall("f", id="call_a", index=0)
    events = said(
        Thinking("hm"),
        Content("Hi", [TokenLogprob("Hi", b"Hi", -1.0)]),
        Calls((call,)),
        Content("!"),
        Done("stop", METRICS, [1, 2]),
    )
    body = encode(await collect(REQUEST, events, stamps())).decode()
    assert body == (
        f'{OPENING}"Hi!","thinking":"hm","done":true,"done_reason":"stop","context":[1,2],'
        '"total_duration":1000,"load_duration":5,"prompt_eval_count":9,"prompt_eval_duration":10,'
        '"eval_count":2,"eval_duration":20,'
        '"tool_calls":[{"id":"call_a","function":{"index":0,"name":"f","arguments":{}}}],'
        '"logprobs":[{"token":"Hi","logprob":-1,"bytes":[72,105]}]}'
    )


def test_answers_that_no_model_writes() -> None:
    assert encode(answer_at_once(REQUEST, Settled("unload"), stamps())).decode() == (
        OPENING + '"","done":true,"done_reason":"unload"}'
    )
    assert encode(answer_at_once(REQUEST, Shown("p", 2), stamps())).decode() == (
        OPENING + '"","done":false,"_debug_info":{"rendered_template":"p","image_count":2}}'
    )
