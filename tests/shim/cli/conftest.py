"""A server to talk to, and a way to call the command line against it."""

import io
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from shim.cli.main import run
from tests.shim.cli.scripted import Result, ScriptedServer, Shim, handler_for


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedServer]:
    """A running server to which the environment points; the store's folder does not exist."""
    scripted = ScriptedServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(scripted))
    scripted.port = http.server_address[1]
    thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.01))
    thread.start()
    monkeypatch.delenv("SHIM_HOST", raising=False)
    monkeypatch.delenv("SHIM_MODELS", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{scripted.port}")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))
    yield scripted
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def shim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shim:
    """Calls the command line in this process; `stdin` is what is piped into it."""

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
