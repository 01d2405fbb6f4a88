"""The process that holds one loaded model: ``python -m runtime.worker --fd N [--engine llama|fake]``.

Three threads: the main one reads the socket and never waits for anything else, one loads the engine and then
carries its events to the socket, one tokenises. The engine's own loop runs below them and waits for none.

The process lives exactly as long as the other end of its socket: on end of file or on Shutdown it leaves at
once, even in the middle of native code, and the operating system frees everything. It knows nothing of the
server, of HTTP, or of which requests matter.
"""

from __future__ import annotations

import argparse
import importlib
import os
import queue
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, cast

from runtime import events
from runtime.engine_protocol import Engine, EngineLoader
from runtime.errors import BadOptions, LoadError, WireError
from runtime.wire import FrameEncoder, worker_decoder

ENGINES = {"llama": ("runtime.engine", "load_engine"), "fake": ("runtime.fake", "load_fake_engine")}
READ_BYTES = 256 * 1024
STATS_SECONDS = 1.0
PROGRESS_STEP = 0.01
OOM_SCORE = 500  # when memory runs out, the kernel ends a worker and not the server
EXIT_LOAD_FAILED = 1
EXIT_BROKEN = 70


class Worker:
    """Carries requests from a socket to an engine and its events back."""

    def __init__(self, sock: socket.socket, engine_name: str) -> None:
        self._sock = sock
        self._engine_name = engine_name
        self._engine: Engine | None = None
        self._encoder = FrameEncoder()
        self._sending = threading.Lock()
        self._texts: queue.SimpleQueue[events.Tokenize | events.Detokenize] = queue.SimpleQueue()
        self._handlers: dict[type[events.Message], Callable[[Any], None]] = {
            events.Load: self._start_load,
            events.Submit: self._submit,
            events.Embed: self._embed,
            events.Cancel: self._cancel,
            events.Tokenize: self._texts.put,
            events.Detokenize: self._texts.put,
            events.Shutdown: lambda message: leave(0),
        }

    def run(self) -> NoReturn:
        """Serve until the other end goes away."""
        self.send([events.Hello(pid=os.getpid(), engine=self._engine_name)])
        decoder = worker_decoder()
        while True:
            try:
                data = self._sock.recv(READ_BYTES)
            except OSError:
                data = b""
            if not data:
                leave(0)
            for message in decoder.feed(data):
                self._handlers[type(message)](message)

    def send(self, messages: Sequence[events.Message]) -> None:
        """Write one frame; from any thread. Leaves when nobody is there to read it."""
        frame = self._encoder.encode(messages)
        try:
            with self._sending:
                self._sock.sendall(frame)
        except OSError:
            leave(0)

    def _start_load(self, message: events.Load) -> None:
        threading.Thread(target=self._serve_engine, args=(message,), name="engine", daemon=True).start()

    def _submit(self, message: events.Submit) -> None:
        if self._engine is None:
            self.send([events.Failed(message.id, "engine", "no model is loaded in this process")])
        else:
            self._engine.submit(message)

    def _embed(self, message: events.Embed) -> None:
        if self._engine is None:
            self.send([events.Failed(message.id, "engine", "no model is loaded in this process")])
        else:
            self._engine.embed(message)

    def _cancel(self, message: events.Cancel) -> None:
        if self._engine is not None:
            self._engine.cancel(message.id)

    def _serve_engine(self, load: events.Load) -> None:
        try:
            loader = find_loader(self._engine_name)
            report = partial(self._report_progress, ProgressFilter())
            engine = loader(load.path, load.architecture, load.options, report)
        except LoadError as error:
            self.send([events.LoadFailed(cast(events.LoadFailureKind, error.kind), error.message)])
            leave(EXIT_LOAD_FAILED)
        self._engine = engine
        self.send([events.Ready(engine.info)])
        threading.Thread(target=self._serve_texts, args=(engine,), name="texts", daemon=True).start()
        self._pump(engine)

    def _report_progress(self, kept: ProgressFilter, fraction: float) -> bool:
        if kept.passes(fraction):
            self.send([events.Progress(fraction)])
        return True  # a load is aborted by leaving

    def _pump(self, engine: Engine) -> NoReturn:
        """Engine to socket, with the totals every second while there is anything to tell."""
        due = time.monotonic() + STATS_SECONDS
        while True:
            messages: list[events.Message] = [*engine.wait_events(STATS_SECONDS)]
            if not messages:
                continue
            now = time.monotonic()
            if now >= due:
                messages.append(engine.stats())
                due = now + STATS_SECONDS
            self.send(messages)

    def _serve_texts(self, engine: Engine) -> NoReturn:
        """Answer Tokenize and Detokenize, which may take long for long texts, one after the other."""
        while True:
            request = self._texts.get()
            try:
                self.send([answer_text(engine, request)])
            except (BadOptions, WireError) as error:
                self.send([events.Failed(request.id, "bad_request", str(error))])


class ProgressFilter:
    """A loader reports after every tensor; one report a percent is enough, and the last."""

    def __init__(self) -> None:
        self._last = -1.0

    def passes(self, fraction: float) -> bool:
        """Whether to send this one."""
        if fraction < self._last + PROGRESS_STEP and not (fraction >= 1.0 > self._last):
            return False
        self._last = fraction
        return True


def answer_text(engine: Engine, request: events.Tokenize | events.Detokenize) -> events.Message:
    """What an engine says to a Tokenize or Detokenize."""
    if isinstance(request, events.Tokenize):
        return events.Tokens(request.id, engine.tokenize(request.text, request.add_special))
    return events.Text(request.id, engine.detokenize(request.tokens))


def find_loader(name: str) -> EngineLoader:
    """Import an engine; only now, so that the socket is served before anything heavy happens. LoadError."""
    module, function = ENGINES[name]
    try:
        if name == "llama":
            _die_with_parent()
        loader: EngineLoader = getattr(importlib.import_module(module), function)
    except ImportError as error:
        text = f"the engine cannot be imported ({error}); install it again, with its C library built"
        raise LoadError("engine", text) from error
    return loader


def _die_with_parent() -> None:
    """On Linux, let the kernel end us with the server: a second rope beside the end of file.

    It hangs on the calling thread, which must live as long as the process.
    """
    from runtime.binding.library import lib  # loads llama.cpp

    lib.shim_die_with_parent()


def leave(code: int) -> NoReturn:
    """End the process now. Clean-up in native code could hang or crash; there is nothing worth saving."""
    sys.stderr.flush()
    os._exit(code)


def leave_broken(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """What to do with a fault of ours, in any thread: say it and end; the server loads anew."""
    traceback.print_exception(kind, error, trace)
    leave(EXIT_BROKEN)


def _prepare_process() -> None:
    """Settings that make this process a good subordinate."""
    sys.excepthook = leave_broken
    threading.excepthook = lambda fault: leave_broken(fault.exc_type, fault.exc_value, fault.exc_traceback)
    # Ctrl-C reaches the whole process group; the server hears it too and ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # a core dump of 20 GB helps nobody
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(OOM_SCORE))
    except OSError:
        return  # not Linux, or not allowed: then there is no preference


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the process."""
    parser = argparse.ArgumentParser(
        prog="runtime.worker", description="Holds one model; started by the server."
    )
    parser.add_argument("--fd", type=int, required=True, help="number of the inherited socket")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="llama")
    given = parser.parse_args(arguments)
    _prepare_process()
    Worker(socket.socket(fileno=given.fd), given.engine).run()


if __name__ == "__main__":
    main()
