"""The worker process itself, spoken to over a bare socket: the server's part is played by the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import events
from runtime.options import LoadOptions
from runtime.process import SOURCE_ROOT
from runtime.wire import FrameEncoder, server_decoder
from runtime.worker import EXIT_BROKEN, EXIT_LOAD_FAILED, ProgressFilter
from tests.runtime.workers import FAKE_WORKER, PATIENCE_SECONDS


class Worker:
    """A process and our end of its socket."""

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(PATIENCE_SECONDS)
        number = theirs.fileno()
        self.process = subprocess.Popen(
            [*FAKE_WORKER, "--fd", str(number)],
            pass_fds=(number,),
            cwd=SOURCE_ROOT,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._decoder = server_decoder()
        self._heard: list[events.FromWorker] = []

    def say(self, *messages: events.Message) -> None:
        self.sock.sendall(FrameEncoder().encode(messages))

    def load(self, **overrides: int | float | bool | str) -> None:
        options = LoadOptions(kv_overrides={f"fake.{key}": value for key, value in overrides.items()})
        self.say(events.Load("/nowhere", options, "llama"))

    def hear(self, kind: type[events.Message]) -> events.FromWorker:
        """The next message of that kind; what comes before it is dropped."""
        while True:
            while self._heard:
                message = self._heard.pop(0)
                if isinstance(message, kind):
                    return message
            data = self.sock.recv(65536)
            assert data, f"the worker left before it said {kind.__name__}"
            self._heard += self._decoder.feed(data)

    def wait(self) -> tuple[int, str]:
        """Its exit status and what it wrote."""
        _, written = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, written.decode()


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.sock.close()
    worker.process.kill()
    worker.wait()


def test_it_says_hello_before_anything_else(worker: Worker) -> None:
    hello = worker.hear(events.Message)
    assert hello == events.Hello(worker.process.pid, "fake")


def test_end_of_file_ends_it(worker: Worker) -> None:
    worker.hear(events.Hello)
    worker.sock.shutdown(socket.SHUT_RDWR)
    assert worker.wait() == (0, "")


def test_end_of_file_ends_it_in_the_middle_of_a_load(worker: Worker) -> None:
    worker.load(load_stall=True)
    worker.hear(events.Progress)
    worker.sock.shutdown(socket.SHUT_RDWR)
    assert worker.wait() == (0, "")


def test_shutdown_ends_it_while_it_generates(worker: Worker) -> None:
    worker.load()
    worker.hear(events.Ready)
    worker.say(events.Submit(1, "[[fake:forever]]"))
    worker.hear(events.Token)
    worker.say(events.Shutdown())
    assert worker.wait() == (0, "")


def test_a_failed_load_is_said_and_ends_it(worker: Worker) -> None:
    worker.load(load_fail="bad_model")
    failed = worker.hear(events.LoadFailed)
    assert isinstance(failed, events.LoadFailed)
    assert failed.kind == "bad_model"
    assert worker.wait() == (EXIT_LOAD_FAILED, "")


def test_an_error_of_its_own_is_printed_and_ends_it(worker: Worker) -> None:
    """A frame that no server would send."""
    worker.hear(events.Hello)
    worker.sock.sendall(b"\xff\xff\xff\xff")
    status, written = worker.wait()
    assert status == EXIT_BROKEN
    assert "exceeds the limit" in written.splitlines()[-1]


def test_terminate_ends_it_and_interrupt_does_not(worker: Worker) -> None:
    worker.load()
    worker.hear(events.Ready)
    worker.process.send_signal(signal.SIGINT)
    worker.say(events.Tokenize(1, "x", False))
    assert worker.hear(events.Tokens) == events.Tokens(1, [120])
    worker.process.send_signal(signal.SIGTERM)
    assert worker.wait() == (-signal.SIGTERM, "")


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="the system has no such file")
def test_when_memory_runs_out_it_goes_before_the_server(worker: Worker) -> None:
    worker.hear(events.Hello)
    score = int(Path(f"/proc/{worker.process.pid}/oom_score_adj").read_text())
    assert score > int(Path(f"/proc/{os.getpid()}/oom_score_adj").read_text())


def test_many_requests_at_once(worker: Worker) -> None:
    worker.load()
    worker.hear(events.Ready)
    worker.say(*(events.Submit(number, "[[fake:words=3]]") for number in range(50)))
    ended = [worker.hear(events.Finished) for _ in range(50)]
    assert {end.id for end in ended if isinstance(end, events.Finished)} == set(range(50))


def test_arguments_are_checked() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "runtime.worker"], cwd=SOURCE_ROOT, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"--fd" in done.stderr


def test_progress_is_thinned_out_and_its_end_is_not_lost() -> None:
    kept = ProgressFilter()
    reports = [number / 1000 for number in range(1001)]
    passed = [fraction for fraction in reports if kept.passes(fraction)]
    assert passed[0] == 0
    assert passed[-1] == 1
    assert 90 < len(passed) < 110
    assert not kept.passes(1.0)
