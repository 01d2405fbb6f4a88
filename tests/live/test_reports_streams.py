"""What people reported as broken about streams: cancelling, stop strings, bytes, seeds, log probabilities.

Each test is a case of `tests/data/reports.jsonl`; its number is in the name.
"""

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartServer
from tests.live.jobs import chat, generate, long_job, text_of
from tests.live.server import ShimServer, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]


def ask(server: ShimServer, body: dict[str, Any], path: str = "/api/generate") -> dict[str, Any]:
    status, answer = server.call("POST", path, body)
    assert status == 200, answer
    assert isinstance(answer, dict)
    return answer


def seconds_of(server: ShimServer, body: dict[str, Any]) -> float:
    began = time.monotonic()
    ask(server, body)
    return time.monotonic() - began


def test_01_a_client_that_goes_away_frees_its_slot(start_server: StartServer, dense_gguf: Path) -> None:
    server = start_server(OLLAMA_NUM_PARALLEL="1")
    server.create("dense", dense_gguf)
    one = generate("dense", "Hello", num_predict=1, num_ctx=4096)
    ask(server, one)
    worker = server.worker()
    for round_ in range(20):
        job = long_job("dense") if round_ % 2 else chat("dense", "Tell me a very long story.", stream=True)
        stream = server.stream("/api/generate" if round_ % 2 else "/api/chat", job)
        for _ in range(3):
            next(stream)
        stream.close()
        # On an idle machine it takes a fraction of a second; the abandoned job would take minutes.
        assert seconds_of(server, one) < 15
    wait_until(lambda: worker.cpu_percent(0.5) < 10, 5, "the worker is idle")
    assert [found.pid for found in server.workers()] == [worker.pid]
    assert [model["name"] for model in server.loaded()] == ["dense:latest"]


def test_06_a_stop_string_never_shows_in_a_stream(server: ShimServer) -> None:
    prompt = "1 2 3 4 5 6 7 8 9"
    body = generate("dense", prompt, num_predict=40)
    whole = ask(server, body)["response"]
    middle = len(whole) // 2
    stop = whole[middle : middle + 6]
    expected = whole[: whole.index(stop)]

    stopped = ask(server, generate("dense", prompt, num_predict=40, stop=[stop]))
    items = list(
        server.stream("/api/generate", generate("dense", prompt, stream=True, num_predict=40, stop=[stop]))
    )
    assert stopped["response"] == text_of(items) == expected
    assert stopped["done_reason"] == items[-1]["done_reason"] == "stop"

    near = stop[:-1] + "§"
    items = list(
        server.stream("/api/generate", generate("dense", prompt, stream=True, num_predict=40, stop=[near]))
    )
    assert text_of(items) == whole
    assert items[-1]["done_reason"] == "length"


def test_07_wild_sampling_gives_whole_characters(hybrid_server: ShimServer) -> None:
    worker = None
    agreeing = 0
    for seed in range(1, 21):
        options: dict[str, Any] = {"temperature": 2, "top_k": 0, "top_p": 1, "num_predict": 80, "seed": seed}
        whole = ask(hybrid_server, generate("hybrid", "Say something", **options))
        body = generate("hybrid", "Say something", stream=True, **options)
        items = list(hybrid_server.stream("/api/generate", body))
        for found in (whole, items[-1]):
            assert found["done"] is True
            assert found["done_reason"] in ("stop", "length")
        text_of(items).encode("utf-8")  # no lone surrogates
        whole["response"].encode("utf-8")
        agreeing += text_of(items) == whole["response"]
        worker = worker or hybrid_server.worker()
        assert hybrid_server.worker().pid == worker.pid
    assert agreeing >= 18


def test_08_a_seed_decides_the_text(server: ShimServer) -> None:
    def texts(seeds: list[int], **options: Any) -> list[str]:
        settings = {"temperature": 1, "num_predict": 24} | options
        bodies = [generate("dense", "Once upon a time", **settings, seed=seed) for seed in seeds]
        return [ask(server, body)["response"] for body in bodies]

    first, second = texts(list(range(10))), texts(list(range(10)))
    assert first == second
    assert len(set(first)) >= 8
    greedy = texts([1, 2], temperature=0)
    assert greedy[0] == greedy[1]
    unseeded = generate("dense", "Once upon a time", temperature=1, num_predict=24)
    assert len({ask(server, unseeded)["response"] for _ in range(5)}) >= 4


@pytest.mark.parametrize("question", ["Name three colours.", "Answer with one smiling emoji: 😀"])
@pytest.mark.parametrize("stop", [[], [","]])
def test_09_log_probabilities_come_with_the_stream(
    server: ShimServer, question: str, stop: list[str]
) -> None:
    body = {**chat("dense", question, num_predict=12, stop=stop), "logprobs": True, "top_logprobs": 3}
    whole = ask(server, body, "/api/chat")
    items = list(server.stream("/api/chat", {**body, "stream": True}))
    streamed = [entry for item in items for entry in item.get("logprobs") or []]
    entries = whole["logprobs"]
    assert (
        len(entries) == len(streamed) == whole["eval_count"] - (whole["done_reason"] == "stop" and not stop)
    )
    for one, other in zip(entries, streamed, strict=True):
        assert (one["token"], one["bytes"]) == (other["token"], other["bytes"])
        assert abs(one["logprob"] - other["logprob"]) <= 0.001
        assert one["logprob"] <= 0
        assert len(one["top_logprobs"]) <= 3
    joined = b"".join(bytes(entry["bytes"]) for entry in entries)
    assert joined.startswith(whole["message"]["content"].encode())
    if not stop:
        assert joined.decode() == whole["message"]["content"]


def test_16_a_long_prompt_does_not_stop_other_streams(start_server: StartServer, dense_gguf: Path) -> None:
    server = start_server(OLLAMA_NUM_PARALLEL="2")
    server.create("dense", dense_gguf)
    stream = server.stream("/api/generate", long_job("dense", tokens=300, num_ctx=8192))
    times = timed(stream, 20)
    usual = sorted(late - early for early, late in itertools.pairwise(times))[len(times) // 2]
    long = generate("dense", "word " * 2000, stream=True, num_predict=4, num_ctx=8192)
    with_others = server.stream("/api/generate", long)
    began = time.monotonic()
    first: list[float] = []
    reader = threading.Thread(target=lambda: first.extend(timed(with_others, 1)), daemon=True)
    reader.start()
    during = [began]
    while reader.is_alive():
        during.extend(timed(stream, 1))
    reader.join()
    gaps = [late - early for early, late in itertools.pairwise(during)]
    assert max(gaps) <= max(1.0, 10 * usual), f"usual gap {usual:.3f} s, longest {max(gaps):.3f} s"
    rest = list(stream)
    assert rest[-1]["done"] is True
    assert rest[-1]["eval_count"] == 300
    assert list(with_others)[-1]["done"] is True


def timed(stream: Iterator[Any], items: int) -> list[float]:
    """When each of the next items arrived."""
    times = []
    for _ in range(items):
        next(stream)
        times.append(time.monotonic())
    return times


@pytest.fixture(scope="module")
def hybrid_server(servers_folder: Path, tiny_qwen35moe_gguf: Path) -> Iterator[ShimServer]:
    running = ShimServer(servers_folder / "hybrid")
    running.start()
    try:
        running.create("hybrid", tiny_qwen35moe_gguf)
        yield running
    finally:
        running.stop()
