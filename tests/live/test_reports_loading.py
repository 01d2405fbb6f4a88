"""What people reported as broken about loading: keep-alive, reloads, odd files, deleted models.

Each test is a case of `tests/data/reports.jsonl`; its number is in the name.
"""

import datetime
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest

from demo.writing import Value, read_metadata, text, u32, write_gguf
from tests.conftest import StartServer
from tests.live.jobs import chat, generate, long_job, text_of
from tests.live.server import ShimServer, is_gone, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]


def ask(server: ShimServer, body: dict[str, Any], path: str = "/api/generate") -> dict[str, Any]:
    status, answer = server.call("POST", path, body)
    assert status == 200, answer
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def fresh(start_server: StartServer, dense_gguf: Path) -> ShimServer:
    """A server of the test's own with `dense` in its store."""
    server = start_server()
    server.create("dense", dense_gguf)
    return server


def seconds_left(server: ShimServer) -> float:
    (model,) = server.loaded()
    expires = datetime.datetime.fromisoformat(model["expires_at"])
    return (expires - datetime.datetime.now(datetime.UTC)).total_seconds()


def test_02_a_keep_alive_stays_until_it_is_changed(fresh: ShimServer) -> None:
    ask(fresh, {"model": "dense", "keep_alive": -1})
    for body, path in (
        (generate("dense", "Hi", num_predict=2), "/api/generate"),
        (chat("dense", "Hi"), "/api/chat"),
    ):
        ask(fresh, body, path)
        assert seconds_left(fresh) > 100 * 365 * 86_400
    ask(fresh, {"model": "dense", "keep_alive": "20m"})
    ask(fresh, chat("dense", "Hi", num_predict=2), "/api/chat")
    assert 19 * 60 <= seconds_left(fresh) <= 20 * 60


def test_03_only_runner_options_load_anew(fresh: ShimServer) -> None:
    ask(fresh, generate("dense", "Hi", num_predict=1, num_ctx=2048))
    worker = fresh.worker()
    changes: list[dict[str, Any]] = [
        {"temperature": 0.1}, {"top_p": 0.5}, {"top_k": 5}, {"seed": 7}, {"stop": ["x"]}, {"num_predict": 3},
        {"repeat_penalty": 1.2}, {"min_p": 0.1}, {"presence_penalty": 0.5}, {"frequency_penalty": 0.5},
    ]  # fmt: skip
    for change in changes:
        answer = ask(fresh, chat("dense", "Hi", **{"num_ctx": 2048, "num_predict": 2} | change), "/api/chat")
        assert answer["load_duration"] < 0.3e9
        assert fresh.worker().pid == worker.pid

    stream = fresh.stream("/api/generate", long_job("dense", tokens=300, num_ctx=2048))
    items = [next(stream)]
    answers: list[dict[str, Any]] = []
    body = chat("dense", "Hi", num_ctx=4096, num_predict=2)
    waiting = [
        threading.Thread(target=lambda: answers.append(ask(fresh, body, "/api/chat"))) for _ in range(2)
    ]
    for thread in waiting:
        thread.start()
    items += stream
    assert items[-1]["done"] is True
    assert items[-1]["eval_count"] == 300
    for thread in waiting:
        thread.join()
    assert len(answers) == 2
    assert [model["context_length"] for model in fresh.loaded()] == [4096]
    assert fresh.worker().pid != worker.pid


def test_21_a_removed_model_leaves_memory(fresh: ShimServer) -> None:
    fresh.cli("cp", "dense", "twin")
    ask(fresh, {"model": "twin", "keep_alive": "15s"})
    worker = fresh.worker()
    fresh.cli("rm", "twin")
    wait_until(lambda: fresh.loaded() == [] and is_gone(worker), 5, "the removed model's worker is gone")
    assert "dense" in fresh.cli("list").stdout
    assert ask(fresh, generate("dense", "Hi", num_predict=2))["done"]


def test_21_a_model_removed_while_it_answers_ends_first(fresh: ShimServer) -> None:
    fresh.cli("cp", "dense", "twin")
    ask(fresh, {"model": "twin", "keep_alive": "15s"})
    worker = fresh.worker()
    stream = fresh.stream("/api/generate", long_job("twin", tokens=200))
    next(stream)
    assert fresh.call("DELETE", "/api/delete", {"model": "twin"})[0] == 200
    last = list(stream)[-1]
    assert last.get("done") is True or list(last) == ["error"]
    wait_until(lambda: is_gone(worker), 20, "the removed model's worker is gone")


def test_21_a_name_made_anew_means_the_new_weights(fresh: ShimServer, moe_split_gguf: Path) -> None:
    fresh.cli("cp", "dense", "twin")
    before = ask(fresh, generate("twin", "The sea is", num_predict=16))["response"]
    fresh.create("twin", moe_split_gguf, "PARAMETER num_experts_used 1")
    assert ask(fresh, generate("twin", "The sea is", num_predict=16))["response"] != before
    assert ask(fresh, generate("dense", "The sea is", num_predict=16))["response"] == before


def test_21_copying_onto_itself_changes_nothing(fresh: ShimServer) -> None:
    before = fresh.call("GET", "/api/tags")
    assert fresh.call("POST", "/api/copy", {"source": "dense", "destination": "dense"})[0] == 200
    assert fresh.call("GET", "/api/tags") == before


def only_architecture(target: Path, dense: Path) -> None:
    write_gguf(target, {"general.architecture": text("llama")}, [])


def no_tensors(target: Path, dense: Path) -> None:
    write_gguf(target, read_metadata(gguf.GGUFReader(dense)), [])


def changed(**keys: Value) -> Callable[[Path, Path], None]:
    def make(target: Path, dense: Path) -> None:
        metadata = read_metadata(gguf.GGUFReader(dense))
        write_gguf(target, metadata | {key.replace("__", "."): value for key, value in keys.items()}, [])

    return make


ODD_FILES = {
    "only-architecture": only_architecture,
    "no-tensors": no_tensors,
    "unknown-architecture": changed(general__architecture=text("otter")),
    "no-blocks": changed(llama__block_count=u32(0)),
    "no-heads": changed(**{"llama__attention__head_count": u32(0)}),
    "experts-of-nothing": changed(llama__expert_count=u32(0), llama__expert_used_count=u32(4)),
}


@pytest.mark.parametrize("name", list(ODD_FILES))
def test_19_a_file_with_hardly_anything_in_it(
    server: ShimServer, dense_gguf: Path, tmp_path: Path, name: str
) -> None:
    """Refused with a reason when it is created or when it is run; nobody else notices."""
    odd = tmp_path / "odd.gguf"
    ODD_FILES[name](odd, dense_gguf)
    stream = server.stream("/api/generate", long_job("dense", tokens=60))
    items = [next(stream)]
    modelfile = tmp_path / "Modelfile"
    modelfile.write_text(f"FROM {odd}\n")
    created = server.cli("create", name, "-f", str(modelfile), check=False)
    if created.returncode:
        assert "Error" in created.stderr
    else:
        assert server.call("POST", "/api/show", {"model": name})[0] != 500
        status, answer = server.call("POST", "/api/chat", chat(name, "Hi", num_predict=2))
        assert status >= 400
        assert answer["error"]
    assert name not in str(server.loaded())
    items += stream
    assert items[-1]["done"] is True
    assert items[-1]["eval_count"] == 60
    assert text_of(items).startswith(" 9, 10, 11,")
    assert server.process.poll() is None
