"""langchain-ollama: chat models, embeddings, tools and structured output, against a running server."""

import importlib
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
    return importlib.import_module("langchain_ollama")


def chat_model(library: Any, server: ShimServer, model: str, **options: Any) -> Any:
    return library.ChatOllama(
        model=model, base_url=f"http://{server.host}", validate_model_on_init=True, **options
    )


def test_chat_streams_and_counts(library: Any, real: ShimServer) -> None:
    model = chat_model(library, real, "dense", temperature=0, num_predict=12)
    answer = model.invoke("What is the capital of France?")
    assert answer.content
    assert answer.usage_metadata["output_tokens"] == answer.response_metadata["eval_count"] > 0
    pieces = list(model.stream("What is the capital of France?"))
    assert "".join(piece.content for piece in pieces) == answer.content
    assert len(pieces) > 3


async def test_the_asynchronous_chat(library: Any, real: ShimServer) -> None:
    model = chat_model(library, real, "dense", temperature=0, num_predict=8)
    assert (await model.ainvoke("Hello")).content


def test_tools_pass_through(library: Any, scripted: ShimServer) -> None:
    messages = importlib.import_module("langchain_core.messages")
    model = chat_model(library, scripted, "capable", reasoning=False).bind_tools([WEATHER])
    question = messages.HumanMessage(ASK_WEATHER)
    answer = model.invoke([question])
    (call,) = answer.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Zürich"})
    result = messages.ToolMessage("sunny", tool_call_id=call["id"])
    final = model.invoke([question, answer, result, messages.HumanMessage(say("Thanks."))])
    assert final.content == "Thanks."


def test_thinking_is_told_from_the_answer(library: Any, scripted: ShimServer) -> None:
    model = chat_model(library, scripted, "capable", reasoning=True)
    answer = model.invoke(say("<think>\nHm.\n</think>\n\nYes."))
    assert answer.content == "Yes."
    assert answer.additional_kwargs["reasoning_content"].strip() == "Hm."


def test_structured_output(library: Any, real: ShimServer) -> None:
    schema = {
        "title": "Town",
        "type": "object",
        "properties": {"size": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["size"],
    }
    model = chat_model(library, real, "dense", temperature=0, num_predict=64)
    answer = model.with_structured_output(schema, method="json_schema").invoke("How large is Paris?")
    assert 0 <= answer["size"] <= 9


def test_a_stream_that_is_left_frees_the_only_slot(library: Any, scripted: ShimServer) -> None:
    model = chat_model(library, scripted, "capable", reasoning=False)
    stream = model.stream(ENDLESS)
    next(stream)
    stream.close()
    assert model.invoke(say("free")).content == "free"


def test_embeddings(library: Any, real: ShimServer) -> None:
    embeddings = library.OllamaEmbeddings(model="dense", base_url=f"http://{real.host}")
    vectors = embeddings.embed_documents(["one", "two", "one"])
    assert [len(vector) for vector in vectors] == [576] * 3
    assert vectors[0] == pytest.approx(vectors[2], abs=1e-5)
    assert embeddings.embed_query("one") == pytest.approx(vectors[0], abs=1e-3)


def test_completion(library: Any, real: ShimServer) -> None:
    model = library.OllamaLLM(model="dense", base_url=f"http://{real.host}", temperature=0, num_predict=8)
    assert model.invoke("Once upon a time")


def test_a_missing_model_is_told_at_once(library: Any, real: ShimServer) -> None:
    with pytest.raises(Exception, match="nobody"):
        chat_model(library, real, "nobody")
