"""What people reported as broken about contexts: truncation, counts, caches, thinking, huge sizes.

Each test is a case of `tests/data/reports.jsonl`; its number is in the name.
"""

import random
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartServer
from tests.live.jobs import chat, generate, text_of
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]


def ask(server: ShimServer, body: dict[str, Any], path: str = "/api/chat") -> dict[str, Any]:
    status, answer = server.call("POST", path, body)
    assert status == 200, answer
    assert isinstance(answer, dict)
    return answer


def test_04_the_system_message_survives_truncation(server: ShimServer) -> None:
    system = "You are a careful librarian who answers briefly. The codeword of today is XYLOPHONE. " * 2
    messages = [{"role": "system", "content": system}]
    for turn in range(30):
        messages.append(
            {"role": "user", "content": f"Question {turn:02d}: where does book number {turn} stand now?"}
        )
        messages.append(
            {"role": "assistant", "content": f"Answer {turn:02d}: book number {turn} stands on shelf {turn}."}
        )
    messages.append({"role": "user", "content": "And where is the last book of all?"})
    body = {
        "model": "dense",
        "messages": messages,
        "stream": False,
        "options": {"num_ctx": 256, "num_predict": 4},
    }

    rendered = ask(server, {**body, "_debug_render_only": True})["_debug_info"]["rendered_template"]
    assert rendered.count(system) == 1
    assert "XYLOPHONE" in rendered[:300]
    assert "And where is the last book of all?" in rendered
    kept = [m["content"] for m in messages[1:-1] if m["content"] in rendered]
    assert 0 < len(kept) < 60
    assert kept == [m["content"] for m in messages[1:-1]][-len(kept) :]
    partly = [
        m["content"] for m in messages[1:-1] if m["content"] not in rendered and m["content"][:11] in rendered
    ]
    assert partly == []

    assert ask(server, body)["prompt_eval_count"] <= 256
    status, refused = server.call("POST", "/api/chat", {**body, "truncate": False})
    assert status == 400, refused


@pytest.mark.parametrize("model", ["dense", "moe"])
def test_05_counts_do_not_shrink_with_the_cache(server: ShimServer, model: str) -> None:
    question = "Please remember this list of words: " + "river stone garden window letter " * 50
    body = chat(model, question, num_predict=8, num_ctx=4096)
    answers = [ask(server, body)]
    answers.append(list(server.stream("/api/chat", {**body, "stream": True}))[-1])
    answers.append(ask(server, body))
    assert len({answer["prompt_eval_count"] for answer in answers}) == 1
    assert answers[0]["prompt_eval_count"] > 200
    assert all(answer["eval_count"] <= 8 for answer in answers)
    assert answers[2]["prompt_eval_duration"] < answers[0]["prompt_eval_duration"] / 2
    longer = ask(
        server,
        chat(model, question, answers[0]["message"]["content"], "Thank you!", num_predict=8, num_ctx=4096),
    )
    assert longer["prompt_eval_count"] > answers[0]["prompt_eval_count"]


def test_13_a_budget_spent_on_thinking_is_no_success(start_server: StartServer, thinker_gguf: Path) -> None:
    server = start_server()
    server.create("thinker", thinker_gguf)
    body = chat("thinker", "Tell me a long story about the sea.", num_predict=20)
    for think in (True, None, False):
        asked = body if think is None else {**body, "think": think}
        whole = ask(server, asked)
        items = list(server.stream("/api/chat", {**asked, "stream": True}))
        thinking = "".join(item["message"].get("thinking", "") for item in items)
        assert text_of(items) == whole["message"]["content"]
        assert thinking == whole["message"].get("thinking", "")
        if think is False:
            assert whole["message"]["content"] != ""
            assert "thinking" not in whole["message"]
            assert "<think>" not in str(whole)
            assert "</think>" not in str(whole)
        else:
            assert whole["message"]["thinking"] != ""
            assert whole["message"]["content"] == ""
            assert whole["done_reason"] == items[-1]["done_reason"] == "length"


def test_15_a_hybrid_keeps_its_state_between_turns(
    start_server: StartServer, tiny_qwen35moe_gguf: Path
) -> None:
    server = start_server()
    server.create("hybrid", tiny_qwen35moe_gguf)
    warm, messages = [], [{"role": "user", "content": words(2000)}]
    for turn in range(6):
        warm.append(ask(server, turn_of(messages)))
        messages = [*messages, warm[-1]["message"], {"role": "user", "content": f"Turn {turn}."}]

    for turn, answer in enumerate(warm):
        server.call("POST", "/api/generate", {"model": "hybrid", "keep_alive": 0})
        fresh = ask(server, turn_of(messages[: 2 * turn + 1]))
        assert fresh["prompt_eval_count"] == answer["prompt_eval_count"]
        one, other = answer["logprobs"][0], fresh["logprobs"][0]
        assert abs(one["logprob"] - other["logprob"]) <= 0.02 or one["token"] != other["token"]
        best, second = (entry["logprob"] for entry in other["top_logprobs"])
        assert one["token"] == other["token"] or best - second <= 0.02
        if turn > 0:
            assert answer["prompt_eval_duration"] <= fresh["prompt_eval_duration"] / 2, f"turn {turn}"


def words(count: int) -> str:
    """Words in no order: repeating one word makes attention a sum of equal parts, the worst case for
    rounding.
    """
    chosen = random.Random(15)
    return " ".join(
        chosen.choice(["river", "stone", "garden", "window", "letter", "bridge"]) for _ in range(count)
    )


def turn_of(messages: list[Any]) -> dict[str, Any]:
    options = {"temperature": 0, "num_predict": 12, "num_ctx": 8192}
    wanted = {"logprobs": True, "top_logprobs": 2}
    return {"model": "hybrid", "messages": messages, "stream": False, "options": options, **wanted}


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not enforce a limit on address space")
def test_17_a_huge_context_is_refused_with_a_reason(
    start_server: StartServer, tiny_qwen35moe_gguf: Path
) -> None:
    measuring = start_server()
    measuring.create("hybrid", tiny_qwen35moe_gguf)
    small = generate("hybrid", "Hello", num_predict=2, num_ctx=2048)
    ask(measuring, small, "/api/generate")
    needed = measuring.worker().memory_info().vms
    server = start_server()
    server.create("hybrid", tiny_qwen35moe_gguf)
    limit = needed * 3 // 2
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))
    for num_ctx in (262_144, 100_000_000, 2_147_483_648, 0, -1, 1):
        status, answer = server.call(
            "POST", "/api/generate", generate("hybrid", "Hello", num_predict=2, num_ctx=num_ctx)
        )
        if status == 200:
            (model,) = server.loaded()
            assert 0 < model["context_length"] <= 262_144
        else:
            assert answer["error"], answer
            assert server.loaded() == []
        assert server.process.poll() is None
        ask(server, small, "/api/generate")


def test_17_a_dense_model_has_no_more_than_it_was_trained_for(
    start_server: StartServer, dense_gguf: Path
) -> None:
    server = start_server()
    server.create("dense", dense_gguf)
    status, answer = server.call(
        "POST", "/api/generate", generate("dense", "Hi", num_predict=2, num_ctx=100_000_000)
    )
    if status == 200:
        assert server.loaded()[0]["context_length"] == 8192
    else:
        assert "100000000" in answer["error"] or "memory" in answer["error"]
