"""What Ollama's own integration tests ask of a server, in their order, with models that are at hand here.

Embeddings, creating and quantising have their own files. What a model of this size cannot know is left out.
"""

from typing import Any

import pytest

from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

SKY = "Why is the sky blue? Answer in one short sentence."
GREEDY = {"temperature": 0, "seed": 42}
METRICS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration", "eval_count")
DETAILS = ("format", "family", "parameter_size", "quantization_level")


def items(server: ShimServer, path: str, body: dict[str, Any], *, stream: bool) -> list[dict[str, Any]]:
    if stream:
        return list(server.stream(path, body))
    status, answer = server.call("POST", path, {**body, "stream": False})
    assert status == 200, answer
    return [answer]


def test_list(server: ShimServer) -> None:
    _, listed = server.call("GET", "/api/tags")
    (model,) = (model for model in listed["models"] if model["name"] == "dense:latest")
    assert all((model["modified_at"], model["size"], model["digest"]))
    assert all(model["details"][name] for name in DETAILS)


def test_show(server: ShimServer) -> None:
    status, shown = server.call("POST", "/api/show", {"name": "dense"})
    assert status == 200
    for name in ("modelfile", "template", "details", "model_info", "modified_at"):
        assert shown[name], name
    assert server.call("POST", "/api/show", {"name": "nobody"})[0] == 404


@pytest.mark.parametrize("stream", [True, False])
def test_generate(server: ShimServer, stream: bool) -> None:
    body = {"model": "dense", "prompt": SKY, "options": {**GREEDY, "num_predict": 48}}
    found = items(server, "/api/generate", body, stream=stream)
    assert {item["model"] for item in found} == {"dense"}
    last = found[-1]
    assert last["done"]
    assert last["done_reason"] in ("stop", "length")
    assert all(last[name] > 0 for name in METRICS)
    assert last["context"]
    text = "".join(item["response"] for item in found).lower()
    assert any(word in text for word in ("rayleigh", "scatter", "atmosphere", "light", "sky", "blue"))
    (running,) = (model for model in server.loaded() if "dense" in model["name"])
    assert all(running[name] for name in ("model", "size", "digest", "expires_at", "context_length"))
    assert all(running["details"][name] for name in DETAILS)


@pytest.mark.parametrize("stream", [True, False])
def test_chat(server: ShimServer, stream: bool) -> None:
    body = {"model": "dense", "messages": [{"role": "user", "content": SKY}],
            "options": {**GREEDY, "num_predict": 32}}  # fmt: skip
    counts = set()
    for _ in range(2):
        found = items(server, "/api/chat", body, stream=stream)
        assert all(item["created_at"] and item["message"]["role"] == "assistant" for item in found)
        last = found[-1]
        assert last["done_reason"] in ("stop", "length")
        assert all(last[name] > 0 for name in METRICS)
        counts.add(last["prompt_eval_count"])
    assert len(counts) == 1
    assert counts != {0}


@pytest.mark.parametrize("path", ["/api/generate", "/api/chat"])
@pytest.mark.parametrize(("asked", "best"), [(False, 0), (True, 0), (True, 5)])
def test_logprobs(server: ShimServer, path: str, asked: bool, best: int) -> None:
    body = {"model": "dense", "prompt": SKY, "messages": [{"role": "user", "content": SKY}],
            "logprobs": asked, "top_logprobs": best, "options": {**GREEDY, "num_predict": 10}}  # fmt: skip
    (answer,) = items(server, path, body, stream=False)
    if not asked:
        assert "logprobs" not in answer
        return
    assert len(answer["logprobs"]) == answer["eval_count"] == 10
    for entry in answer["logprobs"]:
        assert entry["token"]
        assert entry["logprob"] <= 0
        assert bytes(entry["bytes"]).decode(errors="replace") == entry["token"]
        top = [other["logprob"] for other in entry.get("top_logprobs", [])]
        assert len(top) == best
        assert top == sorted(top, reverse=True)


def test_unicode_goes_both_ways(server: ShimServer) -> None:
    system = "You only repeat what the user says."
    body = {"model": "dense", "system": system, "prompt": "天空为什么是蓝色的? Żółć 🙂",
            "_debug_render_only": True, "stream": False}  # fmt: skip
    _, rendered = server.call("POST", "/api/generate", body)
    assert "天空为什么是蓝色的? Żółć 🙂" in rendered["_debug_info"]["rendered_template"]
    raw = {
        "model": "dense",
        "prompt": "日本 日本 日本 日本",
        "raw": True,
        "options": {**GREEDY, "num_predict": 24},
    }
    (answer,) = items(server, "/api/generate", raw, stream=False)
    assert "\ufffd" not in answer["response"][:-1]


def test_a_long_input_meets_a_small_context(server: ShimServer) -> None:
    """Either an answer, or a 4xx that says what exceeds what."""
    body = {"model": "dense", "prompt": "The sky is blue. " * 300, "stream": False,
            "options": {**GREEDY, "num_ctx": 128, "num_predict": 16}}  # fmt: skip
    status, answer = server.call("POST", "/api/generate", body)
    if status == 200:
        assert answer["response"]
        assert answer["prompt_eval_count"] <= 128
    else:
        assert 400 <= status < 500
        assert "context" in answer["error"]
        assert any(word in answer["error"] for word in ("exceed", "too large", "longer", "too long"))


def test_a_long_answer_goes_past_the_window(server: ShimServer) -> None:
    body = {"model": "dense", "prompt": "Write a long story about a whale.", "think": False, "stream": False,
            "options": {**GREEDY, "num_ctx": 128, "num_predict": 300, "repeat_penalty": 1.2}}  # fmt: skip
    status, answer = server.call("POST", "/api/generate", body)
    assert status == 200, answer
    assert answer["eval_count"] > 128 or answer["done_reason"] == "stop"


def test_history_keeps_the_topic(server: ShimServer) -> None:
    first = {"model": "dense", "prompt": "My dog is called Rex.", "options": {**GREEDY, "num_predict": 16}}
    (answer,) = items(server, "/api/generate", first, stream=False)
    again = {
        **first,
        "prompt": "Repeat my sentence.",
        "context": answer["context"],
        "_debug_render_only": True,
    }
    (rendered,) = items(server, "/api/generate", again, stream=False)
    assert "Rex" in rendered["_debug_info"]["rendered_template"]


def test_models_come_and_go(server: ShimServer) -> None:
    for model in ("dense", "moe"):
        assert server.call("POST", "/api/generate", {"model": model, "keep_alive": "10m"})[0] == 200
    assert {model["name"] for model in server.loaded()} == {"dense:latest", "moe:latest"}
    status, answer = server.call("POST", "/api/generate", {"model": "moe", "prompt": "", "keep_alive": 0})
    assert (status, answer["done_reason"]) == (200, "unload")
    status, answer = server.call("POST", "/api/chat", {"model": "dense", "messages": [], "keep_alive": 0})
    assert (status, answer["done_reason"]) == (200, "unload")
    server.wait_unloaded()
