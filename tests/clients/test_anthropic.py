"""The official Python client of Anthropic's API: a loop with a tool, the helper for streams, counting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.clients.dictated import ASK_WEATHER, WEATHER, say
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

TOOL: Any = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": WEATHER["function"]["parameters"],
}
OFF: Any = {"type": "disabled"}


@pytest.fixture
def client(scripted: ShimServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=f"http://{scripted.host}", auth_token="ollama", max_retries=0) as made:
        yield made


def test_a_tool_is_called_and_its_result_read(client: anthropic.Anthropic) -> None:
    turns: list[Any] = [{"role": "user", "content": ASK_WEATHER}]
    asked: dict[str, Any] = {"model": "capable", "max_tokens": 200, "tools": [TOOL], "thinking": OFF}
    answer = client.messages.create(messages=turns, **asked)
    assert answer.stop_reason == "tool_use"
    (block,) = answer.content
    assert block.type == "tool_use"
    assert block.input == {"city": "Zürich"}
    result = {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"}
    text = {"type": "text", "text": say("It is sunny.")}
    turns += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": [result, text]}]
    (said,) = client.messages.create(messages=turns, **asked).content
    assert said.type == "text"
    assert said.text == "It is sunny."


def test_the_helper_for_streams_puts_all_blocks_together(client: anthropic.Anthropic) -> None:
    asked = ASK_WEATHER.replace("[[fake:say]]", "[[fake:say]]<think>hm</think>Sure. ")
    with client.messages.stream(
        model="capable",
        max_tokens=200,
        messages=[{"role": "user", "content": asked}],
        tools=[TOOL],
        thinking={"type": "enabled", "budget_tokens": 1024},
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "Sure."
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use"]
    assert final.stop_reason == "tool_use"
    assert final.usage.output_tokens > 0


def test_tokens_are_counted(client: anthropic.Anthropic) -> None:
    messages: Any = [{"role": "user", "content": say("hi")}]
    counted = client.messages.count_tokens(model="capable", messages=messages)
    answer = client.messages.create(model="capable", messages=messages, max_tokens=20)
    assert counted.input_tokens == answer.usage.input_tokens


def test_errors_carry_their_text(client: anthropic.Anthropic) -> None:
    messages: Any = [{"role": "user", "content": "x"}]
    with pytest.raises(anthropic.NotFoundError, match="model 'nobody' not found"):
        client.messages.create(model="nobody", max_tokens=5, messages=messages)
    long: Any = [{"role": "user", "content": "x " * 20_000}]
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: "):
        client.messages.create(model="capable", max_tokens=5, messages=long)


def test_models_are_listed(client: anthropic.Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["capable:latest"]
