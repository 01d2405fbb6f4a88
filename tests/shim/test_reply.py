"""The inner stream, from scripted engine events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import count

import pytest

from modelfiles.messages import tool_from_json
from modelfiles.replies.stream import ReplyReader
from modelfiles.replies.toolcalls import STYLES
from modelfiles.templates.tags import THINK
from runtime.errors import GenerationFailed
from runtime.events import EngineInfo, Finished, Token, TokenLogprob
from runtime.options import Constraint, SamplingOptions
from shim.errors import ApiError
from shim.events import Calls, Content, Done, Event, Thinking
from shim.reply import MOST_REPEATS, Reply, Task
from shim.tally import ReplyTally

INFO = EngineInfo(
    num_ctx=64,
    num_parallel=1,
    n_ctx_train=64,
    n_vocab=300,
    n_layer=1,
    is_hybrid=False,
    is_recurrent=False,
    can_shift=True,
    bos=-1,
    eos=-1,
    add_bos=False,
    model_bytes=0,
    device_bytes=0,
    host_bytes=0,
    extra_buffers=True,
    llama_version="",
    load_seconds=0.0,
)
TOOLS = (tool_from_json({"function": {"name": "f"}}),)
END = Finished(0, "stop", "eos", prompt_tokens=7, prompt_ns=5, generated_tokens=3, generate_ns=6)
Item = Token | Finished | Exception


class Scripted:
    """A loaded model that says what it was told to."""

    def __init__(self, *items: Item) -> None:
        self.info = INFO
        self.load_ns = 11
        self.released = 0
        self.closed = False
        self.submitted: dict[str, object] = {}
        self._items = items

    def release(self) -> None:
        self.released += 1

    async def generate(
        self,
        prompt: str | list[int],
        sampling: SamplingOptions | None = None,
        *,
        add_special: bool = True,
        shift: bool = True,
        truncate: bool = True,
        logprobs: int = -1,
        echo_tokens: bool = False,
        constraint: Constraint | None = None,
    ) -> AsyncGenerator[Token | Finished, None]:
        self.submitted = {"prompt": prompt, "truncate": truncate, "logprobs": logprobs, "echo": echo_tokens}
        self.constraint = constraint
        try:
            for item in self._items:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed = True


def token(text: str, *logprobs: TokenLogprob) -> Token:
    return Token(0, text, 1, list(logprobs))


def reply(model: Scripted, reader: ReplyReader | None = None, **task: object) -> Reply:
    ids = count()
    wanted = Task("prompt", SamplingOptions(), 0, **task)  # type: ignore[arg-type]  # tests' own fields
    return Reply(model, wanted, reader or ReplyReader(), lambda: f"id{next(ids)}")


async def events(answer: Reply) -> list[Event]:
    return [event async for event in answer.events()]


async def test_tokens_become_content_and_the_end_has_its_numbers() -> None:
    model = Scripted(token("Hel"), token("lo"), END)
    *texts, done = await events(reply(model, with_context=True))
    assert texts == [Content("Hel"), Content("lo")]
    assert isinstance(done, Done)
    assert done.metrics is not None
    assert (done.reason, done.metrics.load_ns, done.metrics.prompt_tokens) == ("stop", 11, 7)
    assert (done.metrics.prompt_ns, done.metrics.generated_tokens, done.metrics.generate_ns) == (5, 3, 6)
    assert done.metrics.total_ns > 0
    assert model.submitted == {"prompt": "prompt", "truncate": True, "logprobs": -1, "echo": True}
    assert (model.released, model.closed) == (1, True)


async def test_a_remainder_comes_before_the_end() -> None:
    rest = Finished(0, "length", "num_predict", text="rest", tokens=[1, 2])
    *texts, done = await events(reply(Scripted(token("a "), rest)))
    assert texts == [Content("a "), Content("rest")]
    assert isinstance(done, Done)
    assert (done.reason, done.context) == ("length", [1, 2])


async def test_held_text_comes_out_in_the_end() -> None:
    reader = ReplyReader(THINK, STYLES["hermes"], TOOLS)
    found = await events(reply(Scripted(token("a <tool"), END), reader))
    assert found[:-1] == [Content("a"), Content(" <tool")]


async def test_calls_get_ids_and_numbers() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>'
    found = await events(
        reply(Scripted(token(text), token(text), END), ReplyReader(None, STYLES["hermes"], TOOLS))
    )
    calls = [event.calls for event in found if isinstance(event, Calls)]
    assert [(call.id, call.index, call.name) for (call,) in calls] == [("id0", 0, "f"), ("id1", 1, "f")]


async def test_ids_of_families_that_read_them_back_are_kept() -> None:
    text = "<|tool_call_begin|>functions.f:7<|tool_call_argument_begin|>{}<|tool_call_end|>"
    found = await events(reply(Scripted(token(text), END), ReplyReader(None, STYLES["kimi_k2"], TOOLS)))
    assert [call.id for event in found if isinstance(event, Calls) for call in event.calls] == [
        "functions.f:7"
    ]


async def test_calls_and_failures_are_counted() -> None:
    tally = ReplyTally()
    blocks = ('{"name": "f"}', '{"name": "g"}', '{"name": "f", "arguments": [1]}', "{name}")
    text = "".join(f"<tool_call>{block}</tool_call>" for block in blocks)
    reader = ReplyReader(None, STYLES["hermes"], TOOLS)
    await events(Reply(Scripted(token(text), END), Task("", SamplingOptions(), 0), reader, str, tally))
    assert tally.calls == 1
    assert tally.failed == {"syntax": 1, "name": 1, "arguments": 1}


async def test_thinking_that_was_switched_off_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tally = ReplyTally()
    task = Task("", SamplingOptions(), 0, model="m", thinking_off=True)
    for _ in range(2):
        thinking = Scripted(token("<think>hm</think>ok"), END)
        found = await events(Reply(thinking, task, ReplyReader(THINK), str, tally))
        assert found[:-1] == [Thinking("hm"), Content("ok")]
    assert [record.getMessage() for record in caplog.records] == [
        "m thinks although it was told not to: its family cannot switch that off"
    ]


async def test_log_probabilities_stay_with_their_item() -> None:
    first, second, third = (TokenLogprob(text, text.encode(), -1.0) for text in ("a", "<", "/think>b"))
    reader = ReplyReader(THINK, inside=True)
    model = Scripted(token("a", first), token("<", second), token("/think>b", third), END)
    found = await events(reply(model, reader, logprobs=0))
    assert found[:-1] == [Thinking("a", [first]), Content("", [second]), Content("b", [third])]


async def test_repetition_is_ended_after_so_many_repeats() -> None:
    enough = [token(text) for text in [" x", "x\n"] * MOST_REPEATS]
    model = Scripted(*enough, END)
    found = await events(reply(model, prompt_tokens=5))
    assert len(found) == MOST_REPEATS + 2 + 1
    done = found[-1]
    assert isinstance(done, Done)
    assert done.metrics is not None
    assert (done.reason, done.metrics.prompt_tokens) == ("repetition", 5)
    assert done.metrics.generated_tokens == MOST_REPEATS + 2
    assert model.closed


async def test_so_many_repeats_are_allowed() -> None:
    model = Scripted(*[token("x")] * (MOST_REPEATS + 1), token("y"), *[token("x")] * (MOST_REPEATS + 1), END)
    done = (await events(reply(model)))[-1]
    assert isinstance(done, Done)
    assert done.reason == "stop"


@pytest.mark.parametrize(
    ("truncate", "words"),
    [(True, "the prompt is longer than the context length"), (False, "5 tokens.*exceed_context_size")],
)
async def test_a_prompt_that_is_too_long_is_told_in_known_words(truncate: bool, words: str) -> None:
    model = Scripted(GenerationFailed("too_long", "the prompt has 5 tokens"))
    with pytest.raises(ApiError, match=words) as caught:
        await events(reply(model, truncate=truncate))
    assert caught.value.status == 400
    assert model.released == 1


async def test_other_failures_pass_and_release() -> None:
    model = Scripted(token("a"), GenerationFailed("engine", "broken"))
    with pytest.raises(GenerationFailed, match="broken"):
        await events(reply(model))
    assert (model.released, model.closed) == (1, True)


async def test_a_generation_that_somebody_else_cancelled_is_no_answer() -> None:
    with pytest.raises(ApiError, match="cancelled by the server"):
        await events(reply(Scripted(token("a"), Finished(0, "cancelled", "cancelled"))))


async def test_leaving_early_closes_and_releases() -> None:
    model = Scripted(token("a"), token("b"), END)
    stream = reply(model).events()
    assert await anext(stream) == Content("a")
    await stream.aclose()
    assert (model.released, model.closed) == (1, True)


async def test_closing_without_reading_releases() -> None:
    model = Scripted(END)
    reply(model).close()
    assert (model.released, model.closed) == (1, False)
