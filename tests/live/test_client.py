"""The official `ollama` Python client against a running server."""

import concurrent.futures
from pathlib import Path

import ollama
import pytest

from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "num_predict": 24}


def test_chat(server: ShimServer) -> None:
    answer = server.client().chat("dense", QUESTION, options=GREEDY)
    assert "Paris" in (answer.message.content or "")
    assert answer.message.role == "assistant"
    assert answer.done
    assert answer.done_reason in ("stop", "length")
    assert (answer.prompt_eval_count or 0) > 5
    assert 0 < (answer.eval_count or 0) <= 24
    assert (answer.total_duration or 0) >= (answer.eval_duration or 0) > 0


def test_a_streamed_chat_says_the_same(server: ShimServer) -> None:
    whole = server.client().chat("moe", QUESTION, options=GREEDY)
    items = list(server.client().chat("moe", QUESTION, options=GREEDY, stream=True))
    assert "".join(item.message.content or "" for item in items) == whole.message.content
    assert [item.done for item in items] == [False] * (len(items) - 1) + [True]
    assert items[-1].eval_count == whole.eval_count
    assert len(items) > 2


def test_generate(server: ShimServer) -> None:
    whole = server.client().generate("dense", "The capital of France is", raw=True, options=GREEDY)
    assert "Paris" in (whole.response or "")
    items = list(
        server.client().generate("dense", "The capital of France is", raw=True, options=GREEDY, stream=True)
    )
    assert "".join(item.response or "" for item in items) == whole.response


def test_context_goes_on_from_the_last_answer(server: ShimServer) -> None:
    client = server.client()
    first = client.generate("dense", "My name is Ada.", options=GREEDY)
    assert first.context
    second = client.generate("dense", "What is my name?", context=first.context, options=GREEDY)
    assert (second.prompt_eval_count or 0) > len(first.context)


def test_create_from_an_uploaded_file(server: ShimServer, tiny_qwen3moe_gguf: Path) -> None:
    client = server.client()
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


def test_create_from_another_model(server: ShimServer) -> None:
    client = server.client()
    client.create("poet", from_="dense", system="You are a poet.", parameters={"temperature": 0.2})
    shown = client.show("poet")
    assert "You are a poet." in (shown.modelfile or "")
    assert "temperature" in (shown.parameters or "")
    client.delete("poet")


def test_show(server: ShimServer) -> None:
    shown = server.client().show("moe")
    assert shown.details is not None
    assert shown.details.family == "llama"
    assert shown.details.format == "gguf"
    assert (shown.modelinfo or {})["llama.expert_count"] == 4
    assert (shown.modelinfo or {})["llama.expert_used_count"] == 2
    assert "completion" in (shown.capabilities or [])


def test_list_and_ps(server: ShimServer) -> None:
    client = server.client()
    listed = {model.model: model for model in client.list().models}
    assert {"dense:latest", "moe:latest"} <= set(listed)
    assert abs((listed["dense:latest"].size or 0) - 98_362_432) < 10_000
    client.generate("dense", "", keep_alive="10m")
    running = {model.model: model for model in client.ps().models}
    assert running["dense:latest"].digest == listed["dense:latest"].digest
    assert running["dense:latest"].size


def test_copy_and_delete(server: ShimServer) -> None:
    client = server.client()
    client.copy("dense", "twin/dense:v2")
    assert "twin/dense:v2" in {model.model for model in client.list().models}
    assert client.show("twin/dense:v2").details == client.show("dense").details
    client.delete("twin/dense:v2")
    assert "twin/dense:v2" not in {model.model for model in client.list().models}
    with pytest.raises(ollama.ResponseError) as refused:
        client.delete("twin/dense:v2")
    assert refused.value.status_code == 404


def test_an_unknown_model_is_not_found(server: ShimServer) -> None:
    with pytest.raises(ollama.ResponseError, match="not found") as refused:
        server.client().chat("nobody", QUESTION)
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
    answer = server.client().generate(
        "dense", prompt, raw=True, options={"temperature": 0, "num_predict": 12}
    )
    assert answer.done
    return answer.response or ""
