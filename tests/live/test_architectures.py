"""Two real architectures with random weights: a plain mixture of experts and a hybrid with recurrent layers.

What they say makes no sense, but it is reproducible, and their caches behave as those of the real models do.
The server runs both with one slot, so that a second turn can only be fast if the first one's state was kept.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.jobs import generate, text_of
from tests.live.server import ShimServer, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]

LONG_TOKENS = 12_000
NUM_CTX = 16_384


@pytest.fixture(scope="module")
def server(servers_folder: Path, tiny_qwen3moe_gguf: Path, tiny_qwen35moe_gguf: Path) -> Iterator[ShimServer]:
    running = ShimServer(servers_folder / "architectures")
    running.start()
    try:
        running.create("qwen3moe", tiny_qwen3moe_gguf)
        running.create("hybrid", tiny_qwen35moe_gguf)
        yield running
    finally:
        running.stop()


MODELS = pytest.mark.parametrize("model", ["qwen3moe", "hybrid"])


def answer(server: ShimServer, body: dict[str, Any]) -> dict[str, Any]:
    status, found = server.call("POST", body.pop("path", "/api/generate"), body)
    assert status == 200, found
    assert isinstance(found, dict)
    return found


@MODELS
def test_loads_and_generates(server: ShimServer, model: str) -> None:
    first = answer(server, generate(model, "The weather today", num_predict=32))
    again = answer(server, generate(model, "The weather today", num_predict=32))
    assert first["response"] == again["response"] != ""
    assert first["eval_count"] == 32
    assert first["done_reason"] == "length"


@MODELS
def test_a_cancelled_request_frees_its_slot(server: ShimServer, model: str) -> None:
    expected = answer(server, generate(model, "Hello", num_predict=8))["response"]
    for _ in range(3):
        stream = server.stream("/api/generate", generate(model, "Hello there", stream=True, num_predict=3000))
        next(stream)
        stream.close()
        assert answer(server, generate(model, "Hello", num_predict=8))["response"] == expected


@MODELS
def test_a_longer_prompt_reuses_what_is_cached(server: ShimServer, model: str) -> None:
    body = generate(model, "word " * 1500, num_predict=4, num_ctx=NUM_CTX)
    cold = answer(server, dict(body))
    longer = generate(
        model, "word " * 1500 + cold["response"] + " more words", num_predict=4, num_ctx=NUM_CTX
    )
    warm = answer(server, longer)
    assert warm["prompt_eval_count"] > cold["prompt_eval_count"] >= 1500
    assert warm["prompt_eval_duration"] < cold["prompt_eval_duration"] / 2


@MODELS
def test_a_second_turn_after_a_long_prompt(server: ShimServer, model: str) -> None:
    """Both turns answer with text, or say why they do not; the second one does not start from nothing."""
    messages = [{"role": "user", "content": "word " * LONG_TOKENS}]
    options = {"temperature": 0, "num_predict": 12, "num_ctx": NUM_CTX}
    body = {"path": "/api/chat", "model": model, "messages": messages, "stream": False, "options": options}
    first = answer(server, dict(body))
    assert first["prompt_eval_count"] >= LONG_TOKENS
    assert first["eval_count"] == 12 or first["done_reason"] == "stop"
    assert first["message"]["content"] != "" or first["done_reason"] == "stop"

    messages += [first["message"], {"role": "user", "content": "And then?"}]
    second = answer(server, dict(body))
    assert second["prompt_eval_count"] > first["prompt_eval_count"]
    assert second["message"]["content"] != "" or second["done_reason"] == "stop"
    assert second["prompt_eval_duration"] < first["prompt_eval_duration"] / 2


@MODELS
def test_a_prompt_that_cannot_fit_says_so(server: ShimServer, model: str) -> None:
    body = {**generate(model, "word " * 3000, num_predict=4, num_ctx=2048), "truncate": False}
    status, refused = server.call("POST", "/api/generate", body)
    assert status == 400, refused
    assert "context" in refused["error"]


@MODELS
def test_streams_and_whole_answers_agree(server: ShimServer, model: str) -> None:
    body = generate(model, "A story", num_predict=60)
    whole = answer(server, dict(body))
    items = list(server.stream("/api/generate", {**body, "stream": True}))
    assert text_of(items) == whole["response"]
    assert items[-1]["done"] is True


def test_the_hybrid_does_not_freeze_while_another_reads(server: ShimServer) -> None:
    """Two models at once: each has its own process, so both answer."""
    stream = server.stream("/api/generate", generate("hybrid", "word " * 6000, stream=True, num_predict=4))
    assert answer(server, generate("qwen3moe", "Hello", num_predict=4))["done"]
    assert list(stream)[-1]["done"] is True
    wait_until(
        lambda: {model["name"].split(":")[0] for model in server.loaded()} >= {"hybrid", "qwen3moe"},
        5,
        "both are loaded",
    )
