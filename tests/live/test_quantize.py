"""Quantizing through the server: models that then run, progress, and what ends it early."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import models
from tests.conftest import StartServer
from tests.live.server import ShimServer, is_gone, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def f16(servers_folder: Path) -> Iterator[ShimServer]:
    """A server with `dense` as 16-bit floats and with a small mixture of experts."""
    running = ShimServer(servers_folder / "quantize")
    running.start()
    try:
        running.create("f16", models.dense_f16())
        running.create("moe", models.tiny_qwen3moe())
        yield running
    finally:
        running.stop()


def quantizers(server: ShimServer) -> list[psutil.Process]:
    """The quantizing processes below a server."""
    found = []
    for child in psutil.Process(server.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "runtime.quantize_worker" in child.cmdline():
                found.append(child)
    return found


def half_written(server: ShimServer) -> list[str]:
    """Files in the store that are not yet a blob."""
    return [path.name for path in (server.store / "blobs").iterdir() if len(path.name) != len("sha256-") + 64]


def shown(server: ShimServer, name: str) -> Any:
    status, body = server.call("POST", "/api/show", {"model": name})
    assert status == 200
    return body


@pytest.mark.parametrize("kind", ["q8_0", "Q4_K_M", "Q4_K", "IQ4_XS", "Q6_K"])
def test_a_quantized_model_says_what_it_said(f16: ShimServer, kind: str) -> None:
    request = {"model": "new", "from": "f16", "quantize": kind, "system": "Answer in one sentence."}
    items = list(f16.stream("/api/create", request))
    assert items[-1] == {"status": "success"}
    name = {"Q4_K": "Q4_K_M"}.get(kind, kind.upper())
    work = [item for item in items if item["status"] == f"quantizing F16 model to {name}"]
    assert work[-1]["completed"] == work[-1]["total"]
    assert {item["digest"] for item in work} == {"0" * 19}
    assert shown(f16, "new")["details"]["quantization_level"] == name
    status, answer = f16.call(
        "POST",
        "/api/chat",
        {
            "model": "new",
            "messages": QUESTION,
            "stream": False,
            "options": {"temperature": 0, "num_predict": 40},
        },
    )
    assert status == 200
    assert "Paris" in answer["message"]["content"]


def test_experts_of_their_own_type(f16: ShimServer) -> None:
    request = {"model": "new-moe", "from": "moe", "quantize": "Q8_0", "quantize_experts": "IQ4_NL"}
    status, answer = f16.call("POST", "/api/create", {**request, "stream": False})
    assert (status, answer) == (200, {"status": "success"})
    types = {tensor["name"]: tensor["type"] for tensor in shown(f16, "new-moe")["tensors"]}
    assert types["blk.0.ffn_up_exps.weight"] == "IQ4_NL"
    assert types["blk.0.attn_q.weight"] == "Q8_0"
    asked = {"model": "new-moe", "prompt": "a", "stream": False, "options": {"num_predict": 4}}
    status, answer = f16.call("POST", "/api/generate", asked)
    assert (status, answer["done"]) == (200, True)


@pytest.mark.parametrize(
    ("fields", "wanted", "text"),
    [
        ({"quantize": "Q9"}, 500, "unsupported quantization type Q9 - supported types are F32, F16, Q4_K_S"),
        ({"quantization": "IQ1_S"}, 400, "IQ1_S needs an importance matrix"),
        ({"quantize": "Q8_0", "tensor_types": {"x": "y"}}, 400, "unsupported tensor type Y"),
    ],
)
def test_what_cannot_be_is_refused(f16: ShimServer, fields: dict[str, Any], wanted: int, text: str) -> None:
    status, answer = f16.call("POST", "/api/create", {"model": "bad", "from": "f16", **fields})
    assert status == wanted
    assert answer["error"].startswith(text)


def test_quantized_weights_are_not_quantized_again(f16: ShimServer) -> None:
    f16.create("q4", models.dense())
    status, answer = f16.call("POST", "/api/create", {"model": "x", "from": "q4", "quantize": "Q8_0"})
    assert status == 500
    assert answer == {"error": "quantization is only supported for F16, BF16 and F32 models"}


def test_a_client_that_goes_away_ends_the_work(f16: ShimServer) -> None:
    stream = f16.stream("/api/create", {"model": "gone", "from": "f16", "quantize": "Q5_K_M"})
    while "quantizing" not in next(stream)["status"]:
        pass
    wait_until(lambda: bool(quantizers(f16)), 30, "the quantizer runs")
    [process] = quantizers(f16)
    stream.close()
    wait_until(lambda: is_gone(process), 10, "the quantizer is gone")
    wait_until(lambda: not half_written(f16), 10, "nothing half-written is left")
    status, _ = f16.call("POST", "/api/show", {"model": "gone"})
    assert status == 404


def test_a_server_that_is_killed_takes_the_quantizer_with_it(start_server: StartServer) -> None:
    server = start_server()
    server.create("f16", models.dense_f16())
    stream = server.stream("/api/create", {"model": "gone", "from": "f16", "quantize": "Q5_K_M"})
    while "quantizing" not in next(stream)["status"]:
        pass
    wait_until(lambda: bool(quantizers(server)), 30, "the quantizer runs")
    [process] = quantizers(server)
    assert half_written(server)
    server.process.kill()
    server.process.wait()
    wait_until(lambda: is_gone(process), 10, "the quantizer is gone")
    server.start()
    wait_until(lambda: not half_written(server), 10, "what was half-written is gone")
    listed = [model["name"] for model in server.call("GET", "/api/tags")[1]["models"]]
    assert listed == ["f16:latest"]
