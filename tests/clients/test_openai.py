"""The official Python client of OpenAI's API: a loop with a tool, streams, forced calls, vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from jsonschema_rs import validator_for
from pydantic import BaseModel

from tests.clients.dictated import ASK_WEATHER, ENDLESS, WEATHER, say
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]


class City(BaseModel):
    """What an answer has to look like."""

    name: str
    capital: bool


@pytest.fixture
def scripted_client(scripted: ShimServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"http://{scripted.host}/v1", api_key="ollama", max_retries=0) as client:
        yield client


@pytest.fixture
def real_client(real: ShimServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"http://{real.host}/v1", api_key="ollama", max_retries=0) as client:
        yield client


def test_a_tool_is_called_and_its_result_read(scripted_client: openai.OpenAI) -> None:
    turns: list[Any] = [{"role": "user", "content": ASK_WEATHER}]
    asked: dict[str, Any] = {"model": "capable", "tools": [WEATHER], "reasoning_effort": "none"}
    choice = scripted_client.chat.completions.create(messages=turns, **asked).choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls or []
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"city": "Zürich"}
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    turns += [choice.message, result, {"role": "user", "content": say("It is sunny.")}]
    answer = scripted_client.chat.completions.create(messages=turns, **asked)
    assert answer.choices[0].message.content == "It is sunny."


def test_the_helper_for_streams_puts_a_call_together(scripted_client: openai.OpenAI) -> None:
    with scripted_client.chat.completions.stream(
        model="capable",
        messages=[{"role": "user", "content": ASK_WEATHER}],
        tools=[WEATHER],  # type: ignore[list-item]  # plain objects are what people send
        reasoning_effort="none",
        stream_options={"include_usage": True},
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls or []
    assert call.function.name == "get_weather"
    assert final.usage is not None
    assert final.usage.completion_tokens > 0


def test_a_stream_that_is_closed_frees_the_only_slot(scripted_client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "capable", "reasoning_effort": "none"}
    for _ in range(3):
        endless: Any = [{"role": "user", "content": ENDLESS}]
        with scripted_client.chat.completions.create(messages=endless, stream=True, **asked) as stream:
            next(iter(stream))
        free: Any = [{"role": "user", "content": say("free")}]
        answer = scripted_client.chat.completions.create(messages=free, timeout=20, **asked)
        assert answer.choices[0].message.content == "free"


def test_errors_carry_their_text(scripted_client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="model 'nobody' not found"):
        scripted_client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "x"}])
    with pytest.raises(openai.BadRequestError, match="too short"):
        scripted_client.chat.completions.create(model="capable", messages=[])


def test_a_small_model_calls_a_tool_when_it_has_to(capable_client: openai.OpenAI) -> None:
    schema = WEATHER["function"]["parameters"]
    valid = validator_for(schema)
    called = 0
    # Plain objects are what people send.
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [WEATHER],
        "tool_choice": "required",
        "temperature": 1.0,
        "max_tokens": 120,
    }
    for seed in range(5):
        answer = capable_client.chat.completions.create(model="caller", seed=seed, **asked)
        choice = answer.choices[0]
        if choice.finish_reason == "length":
            continue  # a text that never ended; the schema does not bound it
        (call,) = choice.message.tool_calls or []
        assert call.type == "function"
        assert valid.is_valid(json.loads(call.function.arguments))
        called += 1
    assert called


@pytest.fixture
def capable_client(real: ShimServer) -> Iterator[openai.OpenAI]:
    """Real weights with a template that takes tools: the model `caller`."""
    template = "{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}"
    tools = "{{ if .Tools }}<|im_start|>system\n{{ .Tools }}<|im_end|>\n{{ end }}"
    body = {"model": "caller", "from": "dense", "template": tools + template, "stream": False}
    assert real.call("POST", "/api/create", body)[0] == 200
    with openai.OpenAI(base_url=f"http://{real.host}/v1", api_key="ollama", max_retries=0) as client:
        yield client


def test_an_answer_is_parsed_into_a_class(real_client: openai.OpenAI) -> None:
    answer = real_client.chat.completions.parse(
        model="dense",
        messages=[{"role": "user", "content": "Paris"}],
        response_format=City,
        temperature=0,
        max_tokens=200,
    )
    assert isinstance(answer.choices[0].message.parsed, City)


def test_vectors_come_in_both_encodings(real_client: openai.OpenAI) -> None:
    packed = real_client.embeddings.create(model="dense", input=["one", "two"])
    plain = real_client.embeddings.create(model="dense", input=["one", "two"], encoding_format="float")
    assert len(packed.data) == 2
    assert packed.data[1].embedding == pytest.approx(plain.data[1].embedding, abs=1e-6)
    assert packed.usage.prompt_tokens >= 2


def test_a_seed_gives_the_same_answer_again(real_client: openai.OpenAI) -> None:
    def once() -> list[str | None]:
        answer = real_client.chat.completions.create(
            model="dense",
            messages=[{"role": "user", "content": "Tell me a story"}],
            seed=7,
            n=2,
            max_tokens=12,
        )
        return [choice.message.content for choice in answer.choices]

    first = once()
    assert first == once()
    assert first[0] != first[1]


def test_models_and_completions(real_client: openai.OpenAI) -> None:
    assert "dense:latest" in [model.id for model in real_client.models.list()]
    assert real_client.models.retrieve("dense").id == "dense"
    answer = real_client.completions.create(model="dense", prompt="The sky is", max_tokens=4, temperature=0)
    assert answer.choices[0].text
    assert answer.choices[0].finish_reason == "length"


def test_responses_are_read_item_by_item(scripted_client: openai.OpenAI) -> None:
    tool: Any = {"type": "function", "strict": False, **WEATHER["function"]}
    asked: dict[str, Any] = {"model": "capable", "tools": [tool], "reasoning": {"effort": "none"}}
    with scripted_client.responses.stream(input=ASK_WEATHER, **asked) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    (call,) = final.output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Zürich"}
    output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    said: Any = {"role": "user", "content": say("It is sunny.")}
    answer = scripted_client.responses.create(input=[output, said], previous_response_id=final.id, **asked)
    assert answer.output_text == "It is sunny."
