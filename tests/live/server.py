"""Starts the real `shim serve` for a test: its own store, its own home, a free port of this machine.

Everything is driven from outside, as a user would: the command line, HTTP, signals and the process table.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ollama
import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from shim.cli.main import main; main()"]
START_SECONDS = 30.0
STOP_SECONDS = 15.0
PATIENCE_SECONDS = 300.0  # no answer is worth waiting longer for, however busy the machine


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> float:
    """Asks again and again until `condition` holds; returns how long that took, fails after `seconds`."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            raise AssertionError(f"after {seconds:.0f} s still not so: {what}")
        time.sleep(0.02)
    return time.monotonic() - started


@dataclass
class ShimServer:
    """A running server. Paths and processes are open to the test, since it may well kill them."""

    home: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def store(self) -> Path:
        return self.home / "models"

    @property
    def log(self) -> str:
        return (self.home / "server.log").read_text(errors="replace")

    def environment(self) -> dict[str, str]:
        """Nothing of the user's settings, but the same caches for all servers of a run."""
        ours = ("OLLAMA_", "SHIM_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return kept | {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home.parent / "cache"),
            "OLLAMA_HOST": self.host,
            "OLLAMA_MODELS": str(self.store),
            "PYTHONPATH": str(REPOSITORY),
            # Nothing goes beyond this machine: what is not here is asked of a proxy that is not there.
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
            **self.extra,
        }

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "serve"], env=self.environment(), cwd=self.home, stdout=log, stderr=log
            )
        wait_until(self._answers, START_SECONDS, f"the server answers; its log:\n{self.log}")

    def stop(self) -> None:
        """Asks the server to stop and sees to it that it does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the server ignored SIGTERM; its log:\n{self.log}") from None

    def client(self) -> ollama.Client:
        return ollama.Client(host=self.host, trust_env=False, timeout=PATIENCE_SECONDS)

    def cli(self, *arguments: str, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs `shim` with these arguments against this server."""
        finished = subprocess.run(
            [*COMMAND, *arguments], env=self.environment(), cwd=self.home, input=stdin,
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        if check and finished.returncode:
            raise AssertionError(f"shim {' '.join(arguments)} failed:\n{finished.stdout}{finished.stderr}")
        return finished

    def create(self, name: str, gguf: Path, *lines: str) -> None:
        """Makes a model from a GGUF file and further lines of a Modelfile, by the command line."""
        modelfile = self.home / f"Modelfile.{name.replace(':', '-').replace('/', '-')}"
        modelfile.write_text("\n".join([f"FROM {gguf}", *lines]) + "\n")
        self.cli("create", name, "-f", str(modelfile))

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request; the status and the decoded JSON answer (text where it is not JSON)."""
        status, data = self.call_bytes(method, path, None if body is None else json.dumps(body).encode())
        try:
            return status, json.loads(data)
        except ValueError:
            return status, data.decode(errors="replace")

    def call_bytes(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        with contextlib.closing(self._connection()) as connection:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def stream(self, path: str, body: Any) -> Generator[Any]:
        """One streamed request; its items one by one. Closing the iterator closes the connection."""
        with contextlib.closing(self._connection()) as connection:
            connection.request("POST", path, json.dumps(body).encode())
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while line := answer.readline():
                yield json.loads(line)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)

    def loaded(self) -> list[dict[str, Any]]:
        """What /api/ps lists."""
        status, body = self.call("GET", "/api/ps")
        assert status == 200
        models: list[dict[str, Any]] = body["models"]
        return models

    def wait_unloaded(self) -> None:
        """Until /api/ps is empty."""
        wait_until(lambda: not self.loaded(), PATIENCE_SECONDS, "nothing is loaded")

    def workers(self) -> list[psutil.Process]:
        """The worker processes below this server, from the process table."""
        try:
            below = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [child for child in below if _is_worker(child)]

    def worker(self) -> psutil.Process:
        """The only worker."""
        (found,) = self.workers()
        return found

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"the server ended at once; its log:\n{self.log}"
        with contextlib.suppress(OSError):
            return self.call("GET", "/api/version")[0] == 200
        return False


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended (a zombie nobody has waited for yet counts as ended)."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "runtime.worker" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
