"""Completion over the engine without weights, in a real worker process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio
from msgspec import structs

from modelfiles.package import Config
from runtime.errors import GenerationFailed
from runtime.events import EngineInfo
from runtime.lease import Lease
from shim.complete import between
from shim.errors import ApiError, as_api_error
from shim.generation import Settled, Shown
from tests.shim.generating import CONTEXT, PLAIN, TEMPLATES, Answer, Generating, generate, generating, read
from tests.shim.test_reply import INFO

FILLS = "{{ if .Suffix }}<p>{{ .Prompt }}<s>{{ .Suffix }}<m>{{ else }}{{ .Prompt }}{{ end }}"
THINKS = "{{ range .Messages }}{{ if .Thinking }}<t>{{ .Thinking }}</t>{{ end }}{{ .Content }}{{ end }}"
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Generating]:
    async with generating(tmp_path_factory.mktemp("complete")) as services:
        services.add("plain", PLAIN)
        services.add("thinker", (TEMPLATES / "otter.jinja").read_text())
        services.add("bare")
        services.add("go", layer="{{ .System }}<u>{{ .Prompt }}<a>{{ .Response }}</a>", system="Be brief.")
        services.add("fills", layer=FILLS)
        services.add("thinks", layer=THINKS)
        services.add("norenderer", PLAIN, config=Config(renderer="x"))
        services.add("full", PLAIN, system="Be brief.", messages='[{"role":"user","content":"x"}]')
        yield services


async def ask(shared: Generating, model: str, prompt: str, **fields: object) -> Answer:
    return await read(await shared.completion.open(generate(model, prompt, **fields)))


async def shown(shared: Generating, model: str, prompt: str, **fields: object) -> str:
    outcome = await shared.completion.open(generate(model, prompt, debug_render_only=True, **fields))
    assert isinstance(outcome, Shown)
    return outcome.prompt


async def refused(shared: Generating, model: str, prompt: str = "hi", **fields: object) -> ApiError:
    with pytest.raises(Exception, match=r".") as caught:
        await shared.completion.open(generate(model, prompt, **fields))
    error = as_api_error(caught.value)
    assert error is not None
    return error


class Vocabulary:
    """Of a loaded model, all that making a prompt needs."""

    def __init__(self, info: EngineInfo) -> None:
        self.info = info

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return "".join(f"<{token}>" for token in tokens)


def say(text: str) -> str:
    return f"[[fake:say]]{text}[[fake:end]]"


async def test_an_answer_and_its_context(shared: Generating) -> None:
    answer = await ask(shared, "plain", say("Yes."))
    assert (answer.content, answer.done.reason) == ("Yes.", "stop")
    context = answer.done.context
    assert context is not None
    assert bytes(context[1:]).decode() == f"<user>{say('Yes.')}<assistant>Yes."
    again = await shown(shared, "plain", "And?", context=tuple(context))
    assert again == f"<user>{say('Yes.')}<assistant>Yes.<user>And?<assistant>"


@pytest.mark.parametrize(
    ("fields", "prompt"),
    [
        ({}, "<system>Be brief.<user>x<user>hi<assistant>"),
        ({"system": "Own."}, "<system>Own.<user>x<user>hi<assistant>"),
        ({"context": ()}, "<system>Be brief.<user>hi<assistant>"),
        ({"context": (65, 66)}, "AB<system>Be brief.<user>hi<assistant>"),
        ({"raw": True}, "hi"),
    ],
)
async def test_prompts(shared: Generating, fields: dict[str, object], prompt: str) -> None:
    assert await shown(shared, "full", "hi", **fields) == prompt


async def test_raw_answers_are_told_as_they_are(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("<think>hm</think>ok"), raw=True)
    assert (answer.content, answer.thinking, answer.done.context) == ("<think>hm</think>ok", "", None)
    assert (await ask(shared, "go", say("ok"), raw=True)).content == "ok"


async def test_thinking_is_split_off(shared: Generating) -> None:
    answer = await ask(shared, "thinker", say("hm</think>\n\nok"))
    assert (answer.thinking, answer.content) == ("hm", "ok")
    answer = await ask(shared, "thinker", say("ok"), think=False)
    assert (answer.thinking, answer.content) == ("", "ok")


async def test_without_a_template_the_prompt_is_all(shared: Generating) -> None:
    assert await shown(shared, "bare", "hi", system="unused") == "hi"
    assert await shown(shared, "bare", "hi", context=(65,)) == "Ahi"


async def test_a_template_layer(shared: Generating) -> None:
    assert await shown(shared, "go", "hi") == "Be brief.<u>hi<a>"
    assert await shown(shared, "go", "hi", system="Own.") == "Own.<u>hi<a>"
    assert await shown(shared, "go", "hi", context=(65, 66)) == "ABBe brief.<u>hi<a>"
    assert (await ask(shared, "go", say("ok"))).content == "ok"
    shortened = await ask(shared, "go", "x" * (CONTEXT + 100), options={"num_predict": 1})
    assert shortened.done.reason == "length"


async def test_a_template_in_the_request(shared: Generating) -> None:
    asked = {"template": "[{{ .System }}|{{ .Prompt }}]"}
    assert await shown(shared, "go", "hi", **asked) == "[Be brief.|hi]"
    assert await shown(shared, "full", "hi", **asked) == "[Be brief.|x\n\nhi]"
    assert await shown(shared, "bare", "hi", system="S", **asked) == "[S|hi]"
    with_messages = "{{ range .Messages }}{{ .Role }}: {{ .Content }};{{ end }}"
    assert await shown(shared, "full", "hi", template=with_messages) == "system: Be brief.;user: x\n\nhi;"
    for template, text in (
        ("a\n{{ if", "template: :2: unclosed action"),
        ("a\n{{ index .Prompt 9 }}", 'template: :2:3: executing "" at <index .Prompt 9>'),
    ):
        error = await refused(shared, "plain", template=template)
        assert error.status == 500
        assert error.message.startswith(text)


async def test_text_between_two_others(shared: Generating) -> None:
    assert await shown(shared, "fills", "def f(", suffix="return 1") == "<p>def f(<s>return 1<m>"
    assert await shown(shared, "fills", "def f(") == "def f("
    assert await shown(shared, "fills", "a", suffix="b", system="unused", context=(65,)) == "A<p>a<s>b<m>"
    assert await shown(shared, "plain", "a", suffix="b", raw=True) == "a"


async def test_text_between_two_others_by_the_vocabulary() -> None:
    info = structs.replace(INFO, fim_prefix=1, fim_suffix=2, fim_middle=3)
    lease = cast(Lease, Vocabulary(info))
    assert await between(lease, "a", "b") == "<1>a<2>b<3>"


async def test_raw_prompts_and_the_thinking_of_a_template_layer(shared: Generating) -> None:
    thought = say("<t>hm</t>ok")
    answer = await ask(shared, "thinks", thought, raw=True)
    assert (answer.thinking, answer.content) == ("hm", "ok")
    answer = await ask(shared, "thinks", thought, raw=True, think=False)
    assert (answer.thinking, answer.content) == ("", "<t>hm</t>ok")


async def test_no_prompt_loads_or_unloads(shared: Generating) -> None:
    assert await shared.completion.open(generate("bare", "", suffix="")) == Settled("load")
    assert await shared.completion.open(generate("bare", "", keep_alive=-1.0)) == Settled("load")
    assert await shared.completion.open(generate("bare", "", keep_alive=0.0)) == Settled("unload")
    assert "bare:latest" not in [model.name for model in shared.supervisor.loaded()]


@pytest.mark.parametrize(
    ("model", "fields", "status", "message"),
    [
        ("", {}, 404, "model '' not found"),
        ("a b", {}, 400, "invalid model name"),
        ("nope", {}, 404, "model 'nope' not found"),
        ("plain", {"think": True}, 400, '"plain" does not support thinking'),
        (
            "plain",
            {"raw": True, "system": "x"},
            400,
            "raw mode does not support template, system, or context",
        ),
        (
            "plain",
            {"raw": True, "context": (1,)},
            400,
            "raw mode does not support template, system, or context",
        ),
        ("plain", {"suffix": "x"}, 400, "registry.ollama.ai/library/plain:latest does not support insert"),
        ("norenderer", {}, 500, 'unknown renderer "x"'),
        (
            "plain",
            {"format": '"yaml"'},
            500,
            'invalid format: "\\"yaml\\""; expected "json" or a valid JSON Schema object',
        ),
        ("plain", {"images": (b"x",)}, 400, "image input is not supported by this version; send text only"),
        ("plain", {"options": {"seed": "x"}}, 500, 'option "seed" must be of type integer'),
        ("plain", {"top_logprobs": -1}, 400, "top_logprobs must be between 0 and 20"),
    ],
)
async def test_refusals(
    shared: Generating, model: str, fields: dict[str, object], status: int, message: str
) -> None:
    error = await refused(shared, model, "hi", **fields)
    assert (error.status, error.message) == (status, message)


async def test_tokens_that_do_not_exist_are_refused(shared: Generating) -> None:
    error = await refused(shared, "plain", context=(10**6,))
    assert error.status == 400
    assert "1000000" in error.message


async def test_long_prompts(shared: Generating) -> None:
    long = "x" * (CONTEXT + 100)
    assert "exceed_context_size" in (await refused(shared, "plain", long)).message
    before = tuple(b"y" * CONTEXT)
    assert "exceed_context_size" in (await refused(shared, "plain", "hi", context=before)).message
    shortened = await ask(shared, "bare", long, options={"num_predict": 1})
    assert shortened.done.metrics is not None
    assert shortened.done.metrics.prompt_tokens < CONTEXT
    assert shortened.done.reason == "length"


async def test_long_prompts_that_must_not_be_shortened(shared: Generating) -> None:
    outcome = await shared.completion.open(generate("bare", "x" * (CONTEXT + 100), truncate=False))
    with pytest.raises(ApiError, match="exceed_context_size") as caught:
        await read(outcome)
    assert caught.value.status == 400


async def test_other_failures_pass(shared: Generating) -> None:
    outcome = await shared.completion.open(generate("bare", "[[fake:fail=engine]]"))
    with pytest.raises(GenerationFailed):
        await read(outcome)


async def test_options_that_load_differently_load_again(tmp_path: Path) -> None:
    async with generating(tmp_path) as services:
        services.add("bare")
        for num_ctx in (512, 1024):
            await ask(services, "bare", say("x"), options={"num_ctx": num_ctx})
            assert [model.context_length for model in services.supervisor.loaded()] == [num_ctx]
