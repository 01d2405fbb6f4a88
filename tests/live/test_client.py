"""The official `ollama` Python client against a running server."""

import concurrent.futures
from collections.abc import Iterator
from pathlib import Path

import ollama
import pytest

from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "num_predict": 24}


@pytest.fixture
def client(server: ShimServer) -> Iterator[ollama.Client]:
    with server.client() as opened:
        yield opened


def test_chat(client: ollama.Client) -> None:
    answer = client.chat("dense", QUESTION, options=GREEDY)
    assert answer.message.content
    assert answer.message.role == "assistant"
    assert answer.done
    assert answer.done_reason in ("stop", "length")
    assert (answer.prompt_eval_count or 0) > 5
    assert 0 < (answer.eval_count or 0) <= 24
    assert (answer.total_duration or 0) >= (answer.eval_duration or 0) > 0


def test_a_streamed_chat_says_the_same(client: ollama.Client) -> None:
    whole = client.chat("moe", QUESTION, options=GREEDY)
    items = list(client.chat("moe", QUESTION, options=GREEDY, stream=True))
    assert "".join(item.message.content or "" for item in items) == whole.message.content
    assert [item.done for item in items] == [False] * (len(items) - 1) + [True]
    assert items[-1].eval_count == whole.eval_count
    assert len(items) > 2


def test_generate(client: ollama.Client) -> None:
    whole = client.generate("dense", "The capital of France is", raw=True, options=GREEDY)
    assert "Paris" in (whole.response or "")
    items = list(client.generate("dense", "The capital of France is", raw=True, options=GREEDY, stream=True))
    assert "".join(item.response or "" for item in items) == whole.response


def test_context_goes_on_from_the_last_answer(client: ollama.Client) -> None:
    first = client.generate("dense", "My name is Ada.", options=GREEDY)
    assert first.context
    second = client.generate("dense", "What is my name?", context=first.context, options=GREEDY)
    assert (second.prompt_eval_count or 0) > len(first.context)


def test_create_from_an_uploaded_file(client: ollama.Client, tiny_qwen3moe_gguf: Path) -> None:
    digest = client.create_blob(tiny_qwen3moe_gguf)
    steps = [
        step.status
        for step in client.create(
            "uploaded:v1", files={"tiny.gguf": digest}, parameters={"num_experts_used": 2}, stream=True
        )
    ]
    assert steps[-1] == "success"
    assert client.generate("uploaded:v1", "Hello", options=GREEDY).eval_count
    client.delete("uploaded:v1")


def test_create_from_another_model(client: ollama.Client) -> None:
    client.create("poet", from_="dense", system="You are a poet.", parameters={"temperature": 0.2})
    shown = client.show("poet")
    assert "You are a poet." in (shown.modelfile or "")
    assert "temperature" in (shown.parameters or "")
    client.delete("poet")


def test_show(client: ollama.Client) -> None:
    shown = client.show("moe")
    assert shown.details is not None
    assert shown.details.family == "llama"
    assert shown.details.format == "gguf"
    assert (shown.modelinfo or {})["llama.expert_count"] == 4
    assert (shown.modelinfo or {})["llama.expert_used_count"] == 2
    assert "completion" in (shown.capabilities or [])


def test_list_and_ps(client: ollama.Client) -> None:
    listed = {model.model: model for model in client.list().models}
    assert {"dense:latest", "moe:latest"} <= set(listed)
    assert abs((listed["dense:latest"].size or 0) - 98_362_432) < 10_000
    client.generate("dense", "", keep_alive="10m")
    running = {model.model: model for model in client.ps().models}
    assert running["dense:latest"].digest == listed["dense:latest"].digest
    assert running["dense:latest"].size


def test_copy_and_delete(client: ollama.Client) -> None:
    client.copy("dense", "twin/dense:v2")
    assert "twin/dense:v2" in {model.model for model in client.list().models}
    assert client.show("twin/dense:v2").details == client.show("dense").details
    client.delete("twin/dense:v2")
    assert "twin/dense:v2" not in {model.model for model in client.list().models}
    with pytest.raises(ollama.ResponseError) as refused:
        client.delete("twin/dense:v2")
    assert refused.value.status_code == 404


def test_an_unknown_model_is_not_found(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="not found") as refused:
        client.chat("nobody", QUESTION)
    assert refused.value.status_code == 404


def test_thirty_two_clients_at_once(server: ShimServer) -> None:
    """Each gets the whole answer to its own question."""
    numbers = range(32)
    alone = {number: ask(server, number) for number in (3, 17)}
    with concurrent.futures.ThreadPoolExecutor(32) as clients:
        answers = dict(zip(numbers, clients.map(lambda number: ask(server, number), numbers), strict=True))
    assert all(text for text in answers.values())
    assert {number: answers[number] for number in alone} == alone
    assert len(set(answers.values())) > 24


def ask(server: ShimServer, number: int) -> str:
    prompt = (
        f"The number {number} comes before the number {number + 1}, and the number {number + 1} comes before"
    )
    with server.client() as client:
        answer = client.generate("dense", prompt, raw=True, options={"temperature": 0, "num_predict": 12})
    assert answer.done
    return answer.response or ""
