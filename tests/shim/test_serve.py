"""The server as a process of its own: how it starts, what it says, and how it ends. No weights are loaded."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.live.server import COMMAND, ShimServer, wait_until

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
