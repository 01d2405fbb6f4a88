"""Chat over the engine without weights, in a real worker process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from modelfiles.errors import ParameterError, StoreError
from modelfiles.messages import Message, ToolCall, tool_from_json
from modelfiles.package import Config
from modelfiles.templates.tags import THINK
from runtime.errors import GenerationFailed, WorkerDied
from runtime.options import Constraint
from shim.errors import ApiError, as_api_error
from shim.events import Calls, Content, Thinking
from shim.generation import Settled, Shown, behind_thinking
from shim.reply import Reply
from tests.modelfiles.gguf.building import DENSE, gguf
from tests.modelfiles.store.packing import blob, pack
from tests.runtime.workers import until
from tests.shim.generating import (
    CONTEXT,
    PLAIN,
    TEMPLATES,
    Answer,
    Generating,
    chat,
    generating,
    read,
    say,
    user,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTTER = (TEMPLATES / "otter.jinja").read_text()
TOOL = tool_from_json(
    {"function": {"name": "roll", "parameters": {"properties": {"sides": {"type": "integer"}}}}}
)
CALL = "<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n</function>\n</tool_call>"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Generating]:
    async with generating(tmp_path_factory.mktemp("chat")) as services:
        services.add("plain", PLAIN)
        services.add("thinker", OTTER)
        services.add("quiet", OTTER, enable_thinking=False)
        services.add("silent", OTTER, tool_call_parser="none", reasoning_parser="none")
        services.add("kwargs", OTTER, chat_template_kwargs={"enable_thinking": False})
        services.add("bare")
        services.add("remote", config=Config(remote_host="https://elsewhere.example", remote_model="big"))
        services.add("embedder", metadata={"llama.pooling_type": (4, 1)})
        services.add(
            "full", PLAIN, system="Be brief.", messages='[{"role":"user","content":"x"}]', num_predict=5
        )
        yield services


async def ask(shared: Generating, model: str, *messages: Message, **fields: object) -> Answer:
    return await read(await shared.chat.open(chat(model, *messages, **fields)))


def idle(shared: Generating) -> bool:
    """Whether models are loaded, and none of them is held."""
    held = [model.in_flight for model in shared.supervisor.loaded()]
    return bool(held) and not any(held)


async def refused(shared: Generating, model: str, *messages: Message, **fields: object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await shared.chat.open(chat(model, *messages, **fields))
    return caught.value


async def shown(shared: Generating, model: str, *messages: Message, **fields: object) -> str:
    outcome = await shared.chat.open(chat(model, *messages, debug_render_only=True, **fields))
    assert isinstance(outcome, Shown)
    return outcome.prompt


async def test_an_answer_with_its_metrics(shared: Generating) -> None:
    answer = await ask(shared, "plain", say("Hello, you."))
    assert (answer.content, answer.thinking, answer.done.reason) == ("Hello, you.", "", "stop")
    metrics = answer.done.metrics
    assert metrics is not None
    assert metrics.prompt_tokens == len(b"\0<user>[[fake:say]]Hello, you.[[fake:end]]<assistant>")
    assert metrics.generated_tokens == len("Hello, you.")
    assert min(metrics.total_ns, metrics.load_ns, metrics.prompt_ns, metrics.generate_ns) > 0
    assert metrics.total_ns >= metrics.generate_ns
    assert answer.done.context is None


async def test_names_in_any_spelling(shared: Generating) -> None:
    for name in ("plain", "plain:latest", "PLAIN", " library/plain ", "plain:local"):
        assert (await ask(shared, name, say("ok"))).content == "ok"


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("", 400, "model is required"),
        ("  ", 400, "model is required"),
        ("a b", 400, "invalid model name"),
        ("x:", 400, "invalid model name"),
        ("nope:7b", 404, "model 'nope:7b' not found"),
        ("plain:cloud", 403, "ollama cloud is disabled: remote model is unavailable"),
        ("remote", 403, "ollama cloud is disabled: remote model is unavailable"),
        ("remote:local", 404, "model 'remote:local' not found"),
        ("plain:cloud:local", 400, 'use either :local or :cloud, not both: "plain:cloud:local"'),
        ("embedder", 400, '"embedder" does not support chat'),
    ],
)
async def test_models_that_cannot_answer(shared: Generating, model: str, status: int, message: str) -> None:
    with pytest.raises(Exception, match=r".") as caught:
        await shared.chat.open(chat(model, user("hi")))
    error = as_api_error(caught.value)
    assert error is not None
    assert (error.status, error.message) == (status, message)


async def test_what_a_request_may_not_ask(shared: Generating) -> None:
    hi = user("hi")
    assert (
        await refused(shared, "nope", hi, top_logprobs=21)
    ).message == "top_logprobs must be between 0 and 20"
    assert (await refused(shared, "plain", hi, think=True)).message == '"plain" does not support thinking'
    assert (await refused(shared, "plain", hi, think="low")).status == 400
    no_tools = await refused(shared, "bare", hi, tools=(TOOL,))
    assert no_tools.message == "registry.ollama.ai/library/bare:latest does not support tools"
    assert (await refused(shared, "plain", hi, options={"top_k": "many"})).status == 500
    assert "image input" in (await refused(shared, "plain", Message("user", images=(b"x",)))).message
    no_format = await refused(shared, "plain", hi, format="[1]")
    assert no_format.status == 500
    assert "invalid format" in no_format.message


async def test_an_unknown_parser_in_the_options(shared: Generating) -> None:
    with pytest.raises(ParameterError, match="unknown tool_call_parser 'x'"):
        await shared.chat.open(chat("plain", user("hi"), options={"tool_call_parser": "x"}))


async def test_no_messages_load_the_model(shared: Generating) -> None:
    assert await shared.chat.open(chat("plain")) == Settled("load")
    assert idle(shared)


async def test_no_messages_and_no_keep_alive_unload_it(tmp_path: Path) -> None:
    async with generating(tmp_path) as services:
        services.add("plain", PLAIN)
        assert await services.chat.open(chat("plain", keep_alive=0.0)) == Settled("unload")
        await ask(services, "plain", say("ok"))
        assert await services.chat.open(chat("plain", keep_alive=0.0)) == Settled("unload")
        assert services.supervisor.loaded() == []


async def test_keep_alive_zero_with_messages_unloads_afterwards(tmp_path: Path) -> None:
    async with generating(tmp_path) as services:
        services.add("plain", PLAIN)
        assert (await ask(services, "plain", say("ok"), keep_alive=0.0)).content == "ok"
        await until(lambda: not services.supervisor.loaded())


async def test_modelfile_content_and_options(shared: Generating) -> None:
    assert await shown(shared, "full", user("hi")) == "<system>Be brief.<user>x<user>hi<assistant>"
    own = await shown(shared, "full", Message("system", "Own."), user("hi"))
    assert own == "<user>x<system>Own.<user>hi<assistant>"
    answer = await ask(shared, "full", say("more than five"))
    assert (answer.content, answer.done.reason) == ("more ", "length")
    answer = await ask(shared, "full", say("more than five"), options={"num_predict": 9})
    assert answer.content == "more than"


async def test_num_predict(shared: Generating) -> None:
    nothing = await ask(shared, "plain", say("x"), options={"num_predict": 0})
    assert (nothing.content, nothing.done.reason) == ("", "length")
    answer = await ask(shared, "plain", user("[[fake:words=2]]"), options={"num_predict": 10**9})
    assert answer.done.reason == "stop"


async def test_stop_strings(shared: Generating) -> None:
    answer = await ask(shared, "plain", say("one two three"), options={"stop": [" th", "zzz"]})
    assert (answer.content, answer.done.reason) == ("one two", "stop")


@pytest.mark.parametrize(
    ("model", "think", "tail"),
    [
        ("thinker", None, "<think>\n"),
        ("thinker", True, "<think>\n"),
        ("thinker", "high", "<think>\n"),
        ("thinker", False, "<think>\n\n</think>\n\n"),
        ("quiet", None, "<think>\n\n</think>\n\n"),
        ("quiet", True, "<think>\n"),
        ("kwargs", None, "<think>\n\n</think>\n\n"),
        ("kwargs", True, "<think>\n"),
    ],
)
async def test_thinking_is_on_for_models_that_can(
    shared: Generating, model: str, think: object, tail: str
) -> None:
    prompt = await shown(shared, model, user("hi"), think=think)
    assert prompt.endswith(f"<|im_start|>assistant\n{tail}")


async def test_thinking_is_split_off(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("hm, well\n</think>\n\nYes."))
    assert (answer.thinking, answer.content) == ("hm, well", "Yes.")
    kinds = [type(event) for event in answer.events[:-1]]
    assert kinds == sorted(kinds, key=(Thinking, Content).index)


async def test_thinking_that_was_switched_off_but_comes_all_the_same(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("<think>hm</think>Yes."), think=False)
    assert (answer.thinking, answer.content) == ("hm", "Yes.")


async def test_an_answer_that_is_cut_while_thinking_says_so(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("hm, well, let me see"), options={"num_predict": 8})
    assert (answer.thinking, answer.content, answer.done.reason) == ("hm, well", "", "length")


async def test_tool_calls(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say(f"hm</think>Rolling.\n{CALL}\n{CALL}"), tools=(TOOL,))
    assert (answer.thinking, answer.content, answer.done.reason) == ("hm", "Rolling.", "stop")
    assert [(call.name, call.arguments, call.index) for call in answer.calls] == [
        ("roll", {"sides": 6}, 0),
        ("roll", {"sides": 6}, 1),
    ]
    assert len({call.id for call in answer.calls}) == 2
    assert all(len(event.calls) == 1 for event in answer.events if isinstance(event, Calls))


async def test_without_tools_markup_is_content(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say(f"</think>{CALL}"))
    assert (answer.content, answer.calls) == (CALL, [])


async def test_parsers_that_are_switched_off(shared: Generating) -> None:
    answer = await ask(shared, "silent", say(f"hm</think>{CALL}"), tools=(TOOL,))
    assert (answer.content, answer.thinking, answer.calls) == (f"hm</think>{CALL}", "", [])
    parser = {"tool_call_parser": "qwen3_coder"}
    answer = await ask(shared, "silent", say(CALL), tools=(TOOL,), options=parser)
    assert [call.name for call in answer.calls] == ["roll"]


async def test_tool_results_reach_the_prompt(shared: Generating) -> None:
    prompt = await shown(
        shared,
        "thinker",
        user("roll"),
        Message("assistant", tool_calls=(ToolCall("roll", {"sides": 6}),)),
        Message("tool", "4", tool_name="roll"),
        tools=(TOOL,),
    )
    assert "<parameter=sides>\n6\n</parameter>" in prompt
    assert "<tool_response>4</tool_response>" in prompt


async def test_a_structure_leaves_thinking_free() -> None:
    assert behind_thinking(None, THINK, True, inside=True) is None
    at_once = Constraint("json")
    assert behind_thinking(Constraint("json"), None, None, inside=False) == at_once
    assert behind_thinking(Constraint("json"), THINK, False, inside=False) == at_once
    behind = Constraint("json", after="</think>")
    assert behind_thinking(Constraint("json"), THINK, True, inside=True) == behind
    opened = Constraint("json", after="</think>", opening="<think>")
    assert behind_thinking(Constraint("json"), THINK, True, inside=False) == opened


async def test_models_without_any_template_get_chatml(shared: Generating) -> None:
    assert (
        await shown(shared, "bare", user("hi")) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (await ask(shared, "bare", say("Yes.<|im_end|>and more"))).content == "Yes."


async def test_logprobs(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("hm</think>ok"), logprobs=True, top_logprobs=2)
    logprobs = [item for event in answer.events[:-1] for item in event.logprobs]  # type: ignore[union-attr]
    assert "".join(item.token for item in logprobs) == "hm</think>ok"
    assert {len(item.top) for item in logprobs} == {2}
    assert Content("", answer.events[2].logprobs) == answer.events[2]  # type: ignore[union-attr]  # a held "<"
    plain = await ask(shared, "plain", say("ok"), top_logprobs=2)
    assert not any(event.logprobs for event in plain.events[:-1])  # type: ignore[union-attr]


async def test_old_messages_make_room(shared: Generating) -> None:
    old = [Message(role, f"[{n}] " + "x" * 100) for n in range(20) for role in ("user", "assistant")]
    prompt = await shown(shared, "full", *old, user("last"))
    assert len(prompt) < CONTEXT
    assert prompt.startswith("<system>Be brief.<")
    assert prompt.endswith("<user>last<assistant>")
    kept = [m for m in old if m.content in prompt]
    assert kept == old[len(old) - len(kept) :]
    assert len(kept) >= 15


async def test_what_cannot_fit_is_refused_with_the_reason(shared: Generating) -> None:
    for fields in ({}, {"truncate": False}):
        error = await refused(shared, "plain", user("x" * 3000), **fields)
        assert error.status == 400
        assert "the context holds 2048" in error.message
        assert "exceed_context_size" in error.message
    old = [user("x" * 1500), user("y" * 1500)]
    assert (await refused(shared, "plain", *old, truncate=False)).status == 400
    assert (await ask(shared, "plain", *old, say("ok"))).content == "ok"


async def test_endless_repetition_is_ended_and_told(shared: Generating) -> None:
    answer = await ask(shared, "plain", say("a" * 200 + "b"))
    assert answer.content == "a" * 32
    assert answer.done.reason == "repetition"
    assert answer.done.metrics is not None
    assert answer.done.metrics.generated_tokens == 32
    assert (await ask(shared, "plain", say("ab" * 100))).done.reason == "stop"


async def test_a_reader_that_leaves_cancels(shared: Generating) -> None:
    outcome = await shared.chat.open(chat("plain", user("[[fake:forever]]")))
    assert isinstance(outcome, Reply)
    events = outcome.events()
    await anext(events)
    await events.aclose()
    assert idle(shared)
    assert (await ask(shared, "plain", say("next"))).content == "next"


async def test_a_reply_that_nobody_reads_is_given_back(shared: Generating) -> None:
    outcome = await shared.chat.open(chat("plain", user("hi")))
    assert isinstance(outcome, Reply)
    outcome.close()
    assert idle(shared)


async def test_failures_of_the_engine(shared: Generating) -> None:
    with pytest.raises(GenerationFailed, match="engine"):
        await ask(shared, "plain", user("[[fake:fail=engine]]"))
    assert idle(shared)


async def test_many_at_once(shared: Generating) -> None:
    answers = await asyncio.gather(*(ask(shared, "plain", say(f"answer {n}")) for n in range(32)))
    assert [answer.content for answer in answers] == [f"answer {n}" for n in range(32)]


async def test_a_worker_that_dies_ends_the_stream(tmp_path: Path) -> None:
    async with generating(tmp_path) as services:
        services.add("plain", PLAIN)
        outcome = await services.chat.open(chat("plain", user("[[fake:forever]][[fake:die=SIGSEGV@3]]")))
        assert isinstance(outcome, Reply)
        events = outcome.events()
        assert isinstance(await anext(events), Content)
        with pytest.raises(WorkerDied, match="SIGSEGV"):
            async for _ in events:
                pass
        assert (await ask(services, "plain", say("anew"))).content == "anew"


async def test_changed_weights_are_refused_by_name(tmp_path: Path) -> None:
    source = tmp_path / "weights.gguf"
    source.write_bytes(gguf(DENSE))
    async with generating(tmp_path) as services:
        layer = services.store.link_file(source)
        pack(services.store, "linked", layer)
        path = services.store.blob_path(layer.digest)
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:-1] + b"\xff")
        with pytest.raises(StoreError, match=r"weights\.gguf|sha256"):
            await services.chat.open(chat("linked", user("hi")))
        assert services.supervisor.loaded() == []


async def test_adapters_are_loaded_with_their_weights(tmp_path: Path) -> None:
    async with generating(tmp_path) as services:
        weights = blob(services.store, "model", gguf(DENSE))
        adapter = blob(services.store, "adapter", b"adapter")
        pack(services.store, "base", weights)
        pack(services.store, "tuned", weights, adapter)
        for name in ("base", "tuned"):
            assert (await ask(services, name, say("ok"))).content == "ok"
        base, tuned = sorted(services.supervisor.loaded(), key=lambda model: model.name)
        assert base.options.adapters == ()
        assert tuned.options.adapters == ((str(services.store.blob_path(adapter.digest)), 1.0),)
        assert base.spec.key != tuned.spec.key
