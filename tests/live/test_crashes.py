"""Workers and servers that are killed: what clients see, what is left behind, what works afterwards."""

import contextlib
import signal
import socket
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.live.jobs import generate, long_job, text_of
from tests.live.server import ShimServer, is_gone, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]


@pytest.fixture
def loaded(start_server: StartServer, dense_gguf: Path) -> ShimServer:
    """A server of the test's own, with `dense` loaded."""
    server = start_server()
    server.create("dense", dense_gguf)
    status, answer = server.call("POST", "/api/generate", generate("dense", "Hello", num_predict=1))
    assert status == 200, answer
    return server


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_dead_worker_ends_its_streams_with_an_error(loaded: ShimServer, number: signal.Signals) -> None:
    items = []
    for item in loaded.stream("/api/generate", long_job("dense")):
        items.append(item)
        if len(items) == 5:
            loaded.worker().send_signal(number)
    assert list(items[-1]) == ["error"]
    assert number.name in items[-1]["error"]
    assert not any(item.get("done") for item in items)

    # The server is the same, and the next request loads the model anew.
    assert loaded.process.poll() is None
    status, answer = loaded.call("POST", "/api/generate", generate("dense", "Hello", num_predict=4))
    assert status == 200, answer
    assert answer["done"]
    assert len(loaded.workers()) == 1


def test_a_worker_that_dies_idle_is_replaced(loaded: ShimServer) -> None:
    dead = loaded.worker()
    dead.kill()
    wait_until(lambda: is_gone(dead), 5, "the worker is gone")
    wait_until(lambda: loaded.loaded() == [], 5, "/api/ps no longer lists its model")
    status, answer = loaded.call("POST", "/api/generate", generate("dense", "Hello", num_predict=2))
    assert status == 200, answer


@pytest.mark.parametrize("busy", [True, False])
def test_no_worker_outlives_a_killed_server(loaded: ShimServer, busy: bool) -> None:
    worker = loaded.worker()
    stream = loaded.stream("/api/generate", long_job("dense"))
    if busy:
        next(stream)
    loaded.process.kill()
    loaded.process.wait()
    wait_until(lambda: is_gone(worker), 10, "the worker of a killed server is gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_server_and_workers(loaded: ShimServer, number: signal.Signals) -> None:
    workers = loaded.workers()
    stream = loaded.stream("/api/generate", long_job("dense", tokens=3000))
    next(stream)
    loaded.process.send_signal(number)
    ended_in = wait_until(lambda: loaded.process.poll() is not None, 10, "the server has ended")
    assert ended_in <= 10
    assert loaded.process.returncode in (0, 128 + number, -number)
    assert all(is_gone(worker) for worker in workers)
    with contextlib.suppress(ConnectionError, AssertionError):
        for _ in stream:  # ends, in whatever way
            pass
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", loaded.port))


def test_a_second_signal_stops_at_once(loaded: ShimServer) -> None:
    workers = loaded.workers()
    stream = loaded.stream("/api/generate", long_job("dense", tokens=3000))
    next(stream)
    loaded.process.send_signal(signal.SIGTERM)
    loaded.process.send_signal(signal.SIGTERM)
    wait_until(lambda: loaded.process.poll() is not None, 2, "the server has ended")
    wait_until(lambda: all(is_gone(worker) for worker in workers), 2, "its workers have ended")


def test_a_new_server_lists_the_same_models(loaded: ShimServer) -> None:
    before = loaded.call("GET", "/api/tags")[1]
    loaded.process.kill()
    loaded.process.wait()
    loaded.start()
    assert loaded.call("GET", "/api/tags")[1] == before
    status, answer = loaded.call("POST", "/api/generate", generate("dense", "1, 2, 3,", num_predict=8))
    assert status == 200
    assert "4" in text_of([answer])
