"""One worker process as the server sees it: start, load, requests, and why it ended.

Everything here is I/O in the event loop; what is loaded when and for how long is decided elsewhere. The
socket pair is the lifeline: when this end is closed, by us or by the end of this process, the worker leaves.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from runtime import events
from runtime.backlog import Answer
from runtime.cgroups import oom_kills
from runtime.channel import Channel, Control, Route
from runtime.errors import ConnectionGone, GenerationFailed, LoadFailed, WireError, WorkerDied
from runtime.exits import Exit, describe_exit, telling_line
from runtime.log_tail import LogTail

HELLO_SECONDS = 60.0  # an interpreter's start, on a machine that is swapping
EXIT_SECONDS = 2.0  # from the end of the connection to the end of the process
SOURCE_ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger(__name__)


class WorkerProcess:
    """Made by `start_worker`; ``stop()`` must be awaited in the end."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._tail = LogTail()
        self._loading: asyncio.Queue[Control] = asyncio.Queue()
        self.channel = Channel(self._take_control)
        self.stats = events.Stats()
        self._stopping = self._killed = False
        self._oom_kills = oom_kills()
        self._watcher = asyncio.create_task(self._watch())

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether requests can still be sent."""
        return not (self._killed or self.channel.lost.is_set()) and self._process.returncode is None

    async def wait_hello(self) -> None:
        """Wait until the process is up; LoadFailed when it is not."""
        await self._next_control(HELLO_SECONDS)

    async def load(
        self, message: events.Load, stall_seconds: float | None, on_progress: Callable[[float], None]
    ) -> events.EngineInfo:
        """Load a model. LoadFailed also when no progress was made for ``stall_seconds`` (None: never)."""
        self.channel.send(message)
        loop = asyncio.get_running_loop()
        furthest, since = -1.0, loop.time()
        while True:
            left = None if stall_seconds is None else since + stall_seconds - loop.time()
            control = await self._next_control(left)
            if isinstance(control, events.Ready):
                return control.info
            if isinstance(control, events.LoadFailed):
                raise LoadFailed(control.kind, control.message, last_lines=self._tail.lines)
            if isinstance(control, events.Progress) and control.fraction > furthest:
                furthest, since = control.fraction, loop.time()
                on_progress(control.fraction)

    async def generate(self, submit: events.Submit) -> AsyncGenerator[events.Token | events.Finished, None]:
        """Run a request (its id is given here). Leaving early, in whatever way, cancels it in the engine."""
        request_id, route = self.channel.open_route()
        ended = False
        try:
            self._send_request(replace(submit, id=request_id))
            while not ended:
                for answer in await self._take(route):
                    if isinstance(answer, events.Token):
                        yield answer
                        continue
                    ended = True
                    yield _finished(answer)
        finally:
            self.channel.close_route(request_id)
            if not ended:
                self.channel.send(events.Cancel(request_id))

    async def embed(self, tokens: list[int]) -> events.Embedded:
        """The embedding of a text. Cancelling it cancels it in the engine."""
        answer = await self._ask(events.Embed(0, tokens))
        assert isinstance(answer, events.Embedded)
        return answer

    async def tokenize(self, text: str, add_special: bool) -> list[int]:
        """Token ids of ``text``."""
        answer = await self._ask(events.Tokenize(0, text, add_special))
        assert isinstance(answer, events.Tokens)
        return answer.tokens

    async def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of ``tokens``."""
        answer = await self._ask(events.Detokenize(0, list(tokens)))
        assert isinstance(answer, events.Text)
        return answer.text

    async def stop(self) -> Exit:
        """End the process, by force if it does not leave at once, and wait until it is gone."""
        self._stopping = True
        self.channel.send(events.Shutdown())
        self.channel.close()
        return await self.wait_exit()

    async def wait_exit(self) -> Exit:
        """Wait until the process is gone; why it went."""
        return await asyncio.shield(self._watcher)

    def kill(self) -> None:
        """End the process at once; still to be awaited with ``stop()``."""
        self._killed = True
        if self._process.returncode is None:
            self._process.kill()

    async def _ask(self, message: events.Tokenize | events.Detokenize | events.Embed) -> Answer:
        request_id, route = self.channel.open_route()
        try:
            self._send_request(replace(message, id=request_id))
            [answer] = await self._take(route)
        except asyncio.CancelledError:
            self.channel.send(events.Cancel(request_id))
            raise
        finally:
            self.channel.close_route(request_id)
        if isinstance(answer, events.Failed):
            raise GenerationFailed(answer.kind, answer.message)
        return answer

    def _send_request(self, message: events.Message) -> None:
        try:
            self.channel.send(message)
        except WireError as error:
            raise GenerationFailed("bad_request", f"the request is too large: {error}") from error

    async def _take(self, route: Route) -> list[Answer]:
        try:
            return await route.take()
        except ConnectionGone:
            ended = await self.wait_exit()
        lines = ended.last_lines
        raise WorkerDied(ended.reason, signal=ended.signal, last_lines=lines, detail=telling_line(lines))

    def _take_control(self, control: Control) -> None:
        if isinstance(control, events.Stats):
            self.stats = control
        else:
            self._loading.put_nowait(control)

    async def _next_control(self, timeout_seconds: float | None) -> Control:
        """The next message of a load; LoadFailed when the process ends or stays silent instead."""
        got = asyncio.ensure_future(self._loading.get())
        lost = asyncio.ensure_future(self.channel.lost.wait())
        try:
            await asyncio.wait((got, lost), timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            if got.done():
                return got.result()
        finally:
            got.cancel()
            lost.cancel()
        if not self.channel.lost.is_set():
            self.kill()
            text = f"no progress for {timeout_seconds:.0f} s{_said(self._tail.lines)}"
            raise LoadFailed("stalled", text, last_lines=self._tail.lines)
        ended = await self.wait_exit()
        kind = "out_of_memory" if ended.out_of_memory else "died"
        raise LoadFailed(kind, ended.reason + _said(ended.last_lines), last_lines=ended.last_lines)

    async def _watch(self) -> Exit:
        reader = asyncio.create_task(self._read_log())
        await self.channel.lost.wait()
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await reader
        killed = oom_kills() > self._oom_kills
        ended = describe_exit(self._process.returncode or 0, self._tail.lines, oom_killed=killed)
        if self._stopping:
            return dataclasses.replace(ended, reason="stopped by the server")
        if self.channel.fault:
            return dataclasses.replace(ended, reason=f"it sent what cannot be read: {self.channel.fault}")
        return ended

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(65536):
            for line in self._tail.feed(data):
                log.debug("worker %d: %s", self.pid, line)
        self._tail.end()


def _finished(answer: Answer) -> events.Finished:
    if isinstance(answer, events.Finished):
        return answer
    assert isinstance(answer, events.Failed)
    raise GenerationFailed(answer.kind, answer.message)


def _said(last_lines: Sequence[str]) -> str:
    line = telling_line(last_lines)
    return f": {line}" if line else ""


async def start_worker(command: Sequence[str]) -> WorkerProcess:
    """Start ``command`` with ``--fd N`` behind it; LoadFailed when it cannot be started or says nothing."""
    ours, theirs = socket.socketpair()
    try:
        process = await _spawn((*command, "--fd", str(theirs.fileno())), theirs)
    except BaseException as error:
        ours.close()
        if isinstance(error, OSError):
            raise LoadFailed("engine", f"the worker cannot be started: {error}") from error
        raise
    finally:
        theirs.close()
    worker = WorkerProcess(process)
    try:
        await _connect(worker, ours)
        await worker.wait_hello()
    except BaseException:
        await worker.stop()
        raise
    return worker


async def _spawn(command: Sequence[str], inherited: socket.socket) -> Process:
    """Its own sources come first on the worker's path, whatever folder the server was started in."""
    return await asyncio.create_subprocess_exec(
        *command, pass_fds=(inherited.fileno(),), cwd=SOURCE_ROOT, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
    )


async def _connect(worker: WorkerProcess, sock: socket.socket) -> None:
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: worker.channel, sock=sock)
    except BaseException:
        sock.close()
        raise
