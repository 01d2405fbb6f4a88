"""litellm (`ollama_chat/`, `ollama/`) against a running server."""

import importlib
import json
from typing import Any

import pytest

from tests.clients.dictated import ASK_WEATHER, ENDLESS, WEATHER, say
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
    return importlib.import_module("litellm")


def asked(
    server: ShimServer, content: str, model: str = "ollama_chat/capable", **more: Any
) -> dict[str, Any]:
    """The arguments of a completion."""
    messages = [{"role": "user", "content": content}]
    return {"model": model, "messages": messages, "api_base": f"http://{server.host}", "timeout": 120, **more}


def test_chat_and_stream_say_the_same(library: Any, real: ShimServer) -> None:
    request = asked(real, "What is the capital of France?", "ollama_chat/dense", temperature=0, max_tokens=12)
    answer = library.completion(**request)
    text = answer.choices[0].message.content
    assert text
    assert answer.usage.completion_tokens > 0
    pieces = list(library.completion(**request, stream=True))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == text
    assert pieces[-1].choices[0].finish_reason in ("stop", "length")


async def test_the_asynchronous_chat(library: Any, real: ShimServer) -> None:
    answer = await library.acompletion(**asked(real, "Hello", "ollama_chat/dense", max_tokens=8))
    assert answer.choices[0].message.content


def test_generate(library: Any, real: ShimServer) -> None:
    answer = library.completion(**asked(real, "Hello", "ollama/dense", temperature=0, max_tokens=8))
    assert answer.choices[0].message.content


@pytest.mark.parametrize("stream", [False, True])
def test_tools_pass_through(library: Any, scripted: ShimServer, stream: bool) -> None:
    answer = library.completion(**asked(scripted, ASK_WEATHER, tools=[WEATHER], stream=stream, think=False))
    if stream:
        messages = [part.choices[0].delta for part in answer]
        calls = [call for message in messages for call in message.tool_calls or []]
    else:
        calls = answer.choices[0].message.tool_calls
    (call,) = calls
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"city": "Zürich"}


def test_a_result_of_a_tool_is_read(library: Any, scripted: ShimServer) -> None:
    request = asked(scripted, ASK_WEATHER, tools=[WEATHER], think=False)
    message = library.completion(**request).choices[0].message
    request["messages"] += [
        message,
        {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"},
        {"role": "user", "content": say("Thanks.")},
    ]
    assert library.completion(**request).choices[0].message.content == "Thanks."


def test_a_stream_that_is_left_frees_the_only_slot(library: Any, scripted: ShimServer) -> None:
    stream = library.completion(**asked(scripted, ENDLESS, stream=True, think=False))
    next(stream)
    del stream  # its only way to let a connection go
    answer = library.completion(**asked(scripted, say("free"), think=False))
    assert answer.choices[0].message.content == "free"


def test_embeddings(library: Any, real: ShimServer) -> None:
    answer = library.embedding(model="ollama/dense", input=["one", "two"], api_base=f"http://{real.host}")
    assert [len(entry["embedding"]) for entry in answer.data] == [576, 576]
    assert answer.usage.prompt_tokens >= 2


def test_a_missing_model_is_told(library: Any, real: ShimServer) -> None:
    with pytest.raises(Exception, match="model 'nobody' not found"):
        library.completion(**asked(real, "Hello", "ollama_chat/nobody"))
