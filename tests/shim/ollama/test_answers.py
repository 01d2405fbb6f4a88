"""Times, metrics, log probabilities and lines of Ollama's answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob
from shim.bodykinds import Raw
from shim.errors import ApiError
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.gathering import gather
from shim.ollama.answers import (
    Stamps,
    TextLines,
    calls_field,
    logprobs_field,
    metrics_fields,
    shared_fields,
)

SECOND = 1_000_000_000
NOON = 1_787_313_600 * SECOND  # 2026-08-21T12:00:00Z


def stamps(*times: int) -> Stamps:
    moments = iter(times)
    return Stamps(lambda: next(moments))


def test_times_have_as_many_digits_as_they_need() -> None:
    found = stamps(NOON, NOON + 1, NOON + 200_000_000, NOON + 123_456_000, NOON + SECOND)
    assert [found.next() for _ in range(5)] == [
        "2026-08-21T12:00:00Z",
        "2026-08-21T12:00:00.000000001Z",
        "2026-08-21T12:00:00.2Z",
        "2026-08-21T12:00:00.123456Z",
        "2026-08-21T12:00:01Z",
    ]


@pytest.mark.parametrize("model", ["m", 'null "null" <x>', "模型"])
@pytest.mark.parametrize("text", ["Hi <b>", "null", "", '"\\\n', "\u2028\u0085 ü 🙂"])
def test_text_lines_are_what_whole_objects_would_be(model: str, text: str) -> None:
    lines = TextLines(model, stamps(NOON), {"message": {"role": "assistant", "content": None}, "done": False})
    line = lines.line(text)
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {
        "model": model,
        "created_at": "2026-08-21T12:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": False,
    }


def test_metrics_leave_zero_counts_out_and_have_no_zero_durations() -> None:
    assert metrics_fields(None) == {}
    assert metrics_fields(Metrics(0, 0, 0, 0, 0, 0)) == {
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_duration": 1,
        "eval_duration": 1,
    }
    assert list(metrics_fields(Metrics(1000, 5, 9, 10, 2, 20)).values()) == [1000, 5, 9, 10, 2, 20]


def test_log_probabilities() -> None:
    assert logprobs_field([]) == {}
    bare = TokenLogprob("", b"", float("-inf"))
    full = TokenLogprob("ü", "ü".encode(), -0.5, [("ü", "ü".encode(), -0.5), ("a", b"a", -1.5)])
    assert logprobs_field([bare, full]) == {
        "logprobs": [
            {"token": "", "logprob": -9999.0},
            {
                "token": "ü",
                "logprob": -0.5,
                "bytes": [195, 188],
                "top_logprobs": [
                    {"token": "ü", "logprob": -0.5, "bytes": [195, 188]},
                    {"token": "a", "logprob": -1.5, "bytes": [97]},
                ],
            },
        ]
    }


def test_calls() -> None:
    assert calls_field(()) == {}
    calls = (ToolCall("f", {"b": 1, "a": 2}, id="call_x", index=1), ToolCall("g"))
    assert calls_field(calls) == {
        "tool_calls": [
            {"id": "call_x", "function": {"index": 1, "name": "f", "arguments": {"b": 1, "a": 2}}},
            {"function": {"index": 0, "name": "g", "arguments": {}}},
        ]
    }


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({}, None),
        ({"keep_alive": 5.0}, 5.0),
        ({"keep_alive": 5.0, "options": {"keep_alive": "1m"}}, 5.0),
        ({"options": {"keep_alive": "1m"}}, 60.0),
        ({"options": {"keep_alive": -1}}, -1.0),
        ({"options": {"keep_alive": ""}}, None),
    ],
)
def test_keep_alive_may_hide_among_the_options(body: dict[str, object], seconds: float | None) -> None:
    assert shared_fields(body)["keep_alive"] == seconds


def test_a_hidden_keep_alive_that_is_none() -> None:
    with pytest.raises(ApiError, match="invalid duration") as caught:
        shared_fields({"options": {"keep_alive": "soon"}})
    assert caught.value.status == 400


def test_fields_that_are_absent_are_left_to_their_defaults() -> None:
    fields = shared_fields({"model": "m"})
    assert fields.keys() == {"model", "options", "keep_alive", "format", "debug_render_only"}
    assert (
        shared_fields({"format": Raw('{"type": "object"}', {"type": "object"})})["format"]
        == '{"type": "object"}'
    )


async def test_gather() -> None:
    logprob = TokenLogprob("a", b"a", -1.0)
    call = ToolCall("f")

    async def events() -> AsyncGenerator[Event, None]:
        for event in (
            Thinking("h", [logprob]),
            Thinking("m"),
            Content("a", [logprob]),
            Calls((call,), [logprob]),
            Content("b"),
            Done("length"),
        ):
            yield event

    whole = await gather(events())
    assert (whole.thinking, whole.content, whole.calls) == ("hm", "ab", (call,))
    assert whole.logprobs == (logprob,) * 3
    assert whole.done == Done("length")
