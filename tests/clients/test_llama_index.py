"""llama-index-llms-ollama against a running server; it asks for the model's whole context on every call."""

import importlib
from typing import Any

import pytest

from tests.clients.dictated import ASK_WEATHER, ENDLESS, say
from tests.live.server import ShimServer

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore"
    ),  # other people's, at import and when sockets are left to the collector
]


@pytest.fixture(scope="module")
def library() -> Any:
    return importlib.import_module("llama_index.llms.ollama")


@pytest.fixture(scope="module")
def types() -> Any:
    return importlib.import_module("llama_index.core.llms")


def model_of(library: Any, server: ShimServer, model: str, **settings: Any) -> Any:
    return library.Ollama(
        model=model, base_url=f"http://{server.host}", request_timeout=120.0, temperature=0.0, **settings
    )


def test_chat_and_stream_say_the_same(library: Any, types: Any, real: ShimServer) -> None:
    model = model_of(library, real, "dense", additional_kwargs={"num_predict": 12})
    messages = [types.ChatMessage(role="user", content="What is the capital of France?")]
    answer = model.chat(messages)
    assert answer.message.content
    assert answer.raw["usage"]["completion_tokens"] > 0
    assert list(model.stream_chat(messages))[-1].message.content == answer.message.content
    (running,) = real.loaded()
    assert running["context_length"] == 8192


def test_completion(library: Any, real: ShimServer) -> None:
    model = model_of(library, real, "dense", additional_kwargs={"num_predict": 8})
    assert model.complete("Once upon a time").text
    assert list(model.stream_complete("Once upon a time"))[-1].text


async def test_the_asynchronous_chat(library: Any, types: Any, real: ShimServer) -> None:
    model = model_of(library, real, "dense", additional_kwargs={"num_predict": 8})
    assert (await model.achat([types.ChatMessage(role="user", content="Hello")])).message.content


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def test_tools_pass_through(library: Any, types: Any, scripted: ShimServer) -> None:
    tools = importlib.import_module("llama_index.core.tools")
    model = model_of(library, scripted, "capable", thinking=False)
    assert model.metadata.is_function_calling_model
    offered = [tools.FunctionTool.from_defaults(get_weather)]
    answer = model.chat_with_tools(offered, user_msg=ASK_WEATHER)
    (call,) = model.get_tool_calls_from_response(answer)
    assert (call.tool_name, call.tool_kwargs) == ("get_weather", {"city": "Zürich"})
    history = [
        types.ChatMessage(role="user", content=ASK_WEATHER),
        answer.message,
        types.ChatMessage(role="tool", content="sunny", additional_kwargs={"tool_call_id": call.tool_id}),
        types.ChatMessage(role="user", content=say("Thanks.")),
    ]
    assert model.chat(history).message.content == "Thanks."


def test_a_stream_that_is_left_frees_the_only_slot(library: Any, types: Any, scripted: ShimServer) -> None:
    model = model_of(library, scripted, "capable", thinking=False)
    stream = model.stream_chat([types.ChatMessage(role="user", content=ENDLESS)])
    next(stream)
    stream.close()
    assert model.chat([types.ChatMessage(role="user", content=say("free"))]).message.content == "free"
