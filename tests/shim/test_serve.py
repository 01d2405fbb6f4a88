"""The server as a process of its own: how it starts, what it says, and how it ends. No weights are loaded."""

from __future__ import annotations

import contextlib
import http.client
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.live.server import COMMAND, ShimServer, is_gone, wait_until
from tests.modelfiles.gguf.building import gguf
from tests.shim.serving import CHATTING

pytestmark = pytest.mark.slow

MOST_RESIDENT_BYTES = 120_000_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ShimServer]:
    running = ShimServer(tmp_path, {"SHIM_ENGINE": "fake"})
    running.start()
    yield running
    running.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(server: ShimServer, number: signal.Signals) -> None:
    server.process.send_signal(number)
    assert server.process.wait(10) == 0
    assert f"stopping on {number.name}" in server.log
    assert "Traceback" not in server.log
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", server.port))


@pytest.mark.parametrize("signals", [1, 2])
def test_streams_and_workers_end_with_it(server: ShimServer, tmp_path: Path, signals: int) -> None:
    weights = tmp_path / "m.gguf"
    weights.write_bytes(gguf(CHATTING))
    server.create("small", weights)
    body = {"model": "small", "prompt": "[[fake:forever]]", "options": {"num_predict": 100_000}}
    items = server.stream("/api/generate", body)
    next(items)
    worker = server.worker()
    for _ in range(signals):
        server.process.send_signal(signal.SIGTERM)
    seen: list[dict[str, object]] = []
    with contextlib.suppress(OSError, http.client.HTTPException):
        seen.extend(items)
    assert server.process.wait(10 / signals) in ((0,) if signals == 1 else (0, 143))
    if signals == 1:
        assert list(seen[-1]) == ["error"]
    wait_until(lambda: is_gone(worker), 2, "the worker has ended")


def test_open_connections_do_not_keep_it(server: ShimServer) -> None:
    with (
        socket.create_connection(("127.0.0.1", server.port)),
        socket.create_connection(("127.0.0.1", server.port)) as b,
    ):
        b.sendall(b"POST /api/show HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0


def test_a_port_in_use_is_one_readable_error(server: ShimServer) -> None:
    second = server.cli("serve", check=False)
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr.startswith(
        f"Error: listen tcp 127.0.0.1:{server.port}: bind: address already in use; "
    )
    assert second.stderr.count("\n") == 1


def test_it_says_where_it_listens_and_is_lean(server: ShimServer) -> None:
    assert f"listening on http://127.0.0.1:{server.port} " in server.log
    assert server.cli("list").stdout.split() == ["NAME", "ID", "SIZE", "MODIFIED"]
    assert psutil.Process(server.process.pid).memory_info().rss < MOST_RESIDENT_BYTES


@pytest.mark.parametrize(
    ("form", "bound"),
    [
        ("[::1]:{port}", "http://[::1]:{port}"),
        ('"[::1]:{port}"', "http://[::1]:{port}"),
        (" 127.0.0.1:{port} ", "http://127.0.0.1:{port}"),
        ("http://127.0.0.1:{port}/", "http://127.0.0.1:{port}"),
        ("localhost:{port}", "http://127.0.0.1:{port}"),
        ("0.0.0.0:{port}", "http://0.0.0.0:{port}"),
        (":{port}", "http://[::]:{port}"),
    ],
)
def test_forms_of_addresses(tmp_path: Path, form: str, bound: str) -> None:
    server = ShimServer(tmp_path, {"SHIM_ENGINE": "fake"})
    server.extra = {**server.extra, "OLLAMA_HOST": form.format(port=server.port)}
    with (tmp_path / "server.log").open("ab") as log:
        server.process = subprocess.Popen(
            [*COMMAND, "serve"], env=server.environment(), stdout=log, stderr=log
        )
    try:
        expected = f"listening on {bound.format(port=server.port)}"
        wait_until(lambda: expected in server.log, 30, f"the log says {expected}")
        assert server.cli("list").stdout.split() == ["NAME", "ID", "SIZE", "MODIFIED"]
    finally:
        server.stop()


def test_an_impossible_address_is_one_readable_error(tmp_path: Path) -> None:
    server = ShimServer(tmp_path, {"SHIM_ENGINE": "fake", "OLLAMA_HOST": "127.0.0.1：5000"})
    tmp_path.mkdir(exist_ok=True)
    ended = server.cli("serve", check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: '127.0.0.1：5000' is no address to listen on")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("SHIM_ENGINE", "magic", "Error: SHIM_ENGINE='magic' is unknown; one of: llama, fake"),
        ("OLLAMA_KV_CACHE_TYPE", "q9", "Error: SHIM_KV_CACHE_TYPE='q9' is unknown; one of: f32, f16"),
        (
            "OLLAMA_ORIGINS",
            "example.com",
            "Error: SHIM_ORIGINS (or OLLAMA_ORIGINS): 'example.com' is no origin",
        ),
    ],
)
def test_settings_that_cannot_be_honoured_end_the_start(
    tmp_path: Path, name: str, value: str, text: str
) -> None:
    server = ShimServer(tmp_path, {"SHIM_ENGINE": "fake", name: value})
    ended = server.cli("serve", check=False)
    assert ended.returncode == 1
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_is_no_http_is_a_line_in_the_log_and_no_traceback(server: ShimServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nnonsense\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.0 400 Bad Request")
    wait_until(lambda: "Invalid header token" in server.log, 10, "the log tells of it")
    assert "Traceback" not in server.log
