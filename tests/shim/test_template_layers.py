"""Chat with models that have a TEMPLATE, or name a renderer of Ollama's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.package import Config
from shim.errors import ApiError, as_api_error
from tests.shim.generating import CONTEXT, PLAIN, Generating, chat, generating, read, say, user
from tests.shim.test_chat import CALL, TOOL, ask, refused, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")

GO = (
    "{{ if .Tools }}{{ .Tools }}{{ end }}{{ range .Messages }}<{{ .Role }}>{{ .Content }}"
    "{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}"
    '{{ if .ToolCalls }}[CALLS] {{ range .ToolCalls }}{"name": "{{ .Function.Name }}"}{{ end }}{{ end }}'
    "{{ end }}<assistant>{{ if .Think }}{{ .ThinkLevel }}{{ end }}"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Generating]:
    async with generating(tmp_path_factory.mktemp("layers")) as services:
        services.add("go", layer="{{ .System }}<u>{{ .Prompt }}<a>{{ .Response }}</a>")
        services.add("gotools", "{{ tools }}", layer=GO)
        services.add("fails", layer="line\n{{ range .Messages }}{{ .Nope }}{{ end }}")
        services.add("broken", layer="line\n{{ if }}")
        services.add("renderer", PLAIN, config=Config(renderer="qwen3.5", parser="qwen3.5"))
        services.add("norenderer", PLAIN, config=Config(renderer="x"))
        yield services


async def test_a_template_layer_of_turns(shared: Generating) -> None:
    talk = (Message("system", "S"), user("U1"), Message("assistant", "A1"), user("U2"))
    assert await shown(shared, "go", *talk) == "S<u>U1<a>A1</a><u>U2<a>"
    assert await shown(shared, "go", *talk[:3]) == "S<u>U1<a>A1"
    assert (await ask(shared, "go", say("ok"))).content == "ok"


@pytest.mark.parametrize(
    ("think", "tail"), [(None, "medium"), (True, "medium"), ("low", "low"), (False, "")]
)
async def test_a_template_layer_that_sees_messages(shared: Generating, think: object, tail: str) -> None:
    prompt = await shown(shared, "gotools", user("a"), user("b"), think=think)
    assert prompt == f"<user>a\n\nb<assistant>{tail}"


async def test_replies_to_a_template_layer(shared: Generating) -> None:
    called = '<think>hm</think>Sure. [CALLS] [{"name": "roll", "arguments": {"sides": 6}}]'
    answer = await ask(shared, "gotools", say(called), tools=(TOOL,))
    assert (answer.thinking, answer.content) == ("hm", "Sure.")
    assert [(call.name, call.arguments) for call in answer.calls] == [("roll", {"sides": 6})]
    quiet = await ask(shared, "gotools", say("<think>hm</think>ok"), think=False)
    assert (quiet.thinking, quiet.content) == ("", "<think>hm</think>ok")
    prompt = await shown(shared, "gotools", user("x"), tools=(TOOL,))
    assert prompt.startswith('[{"type":"function","function":{"name":"roll"')


async def test_template_layers_that_fail(shared: Generating) -> None:
    for model, text in (("fails", "template: :2:24: executing"), ("broken", "template: :2: missing value")):
        with pytest.raises(TemplateError, match=text) as caught:
            await shared.chat.open(chat(model, user("hi")))
        error = as_api_error(caught.value)
        assert error is not None
        assert error.status == 500


async def test_old_messages_make_room_in_a_template_layer(shared: Generating) -> None:
    old = [Message(role, f"[{n}] " + "x" * 100) for n in range(20) for role in ("user", "assistant")]
    prompt = await shown(shared, "gotools", Message("system", "S"), *old, user("last"))
    assert len(prompt) <= CONTEXT
    assert prompt.startswith("<system>S<")
    assert prompt.endswith("<user>last<assistant>medium")
    kept = [message for message in old if message.content in prompt]
    assert kept == old[len(old) - len(kept) :]
    assert len(kept) >= 15
    assert (await ask(shared, "go", user("x" * 3000), options={"num_predict": 1})).done.reason == "length"
    outcome = await shared.chat.open(chat("go", user("x" * 3000), shift=False))
    with pytest.raises(ApiError, match="the prompt is longer than the context length currently available"):
        await read(outcome)


async def test_renderers_of_ollama(shared: Generating) -> None:
    prompt = await shown(shared, "renderer", user("hi"))
    assert prompt == "<user>hi<assistant>"
    answer = await ask(shared, "renderer", say(f"<think>hm</think>{CALL}"), tools=(TOOL,))
    assert (answer.thinking, [call.name for call in answer.calls]) == ("hm", ["roll"])
    assert (await refused(shared, "norenderer", user("hi"))).message == 'unknown renderer "x"'
