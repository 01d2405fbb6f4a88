"""Quantises one file in a process of its own, and tells how far it is. Blocking: runs in a thread.

A fault in native code ends that process and nothing else, and whatever leaves `quantize`, the process is gone
by then. Knows nothing of stores, models or what to quantise to.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from msgspec.json import encode
from msgspec.structs import replace

from runtime.cgroups import oom_kills
from runtime.errors import QuantizeFailed
from runtime.exits import describe_exit, telling_line
from runtime.log_tail import LogTail
from runtime.process import SOURCE_ROOT
from runtime.quantize_log import failure, result_bytes, tensor_bytes
from runtime.quantize_order import BAD_IMPORTANCE, DONE, Order

COMMAND = (sys.executable, "-m", "runtime.quantize_worker")
# How often `progress` is called where nothing changes: it is where a caller learns that nobody waits
POLL_SECONDS = 0.5
# What is left free on the disk beside the new file
_SPARE_BYTES = 64 << 20

Progress = Callable[[int], None]


def quantize(order: Order, progress: Progress, *, command: Sequence[str] = COMMAND) -> None:
    """Write `order.target`, an existing file that nobody else writes. QuantizeFailed, with the reason.

    `progress` gets the bytes of source tensors that are done, at least twice a second. An exception from it
    ends the work at once and is passed on.
    """
    needed = _dry_run(order, progress, command)
    free = shutil.disk_usage(Path(order.target).parent).free
    if needed + _SPARE_BYTES > free:
        raise QuantizeFailed(
            f"no space left on device: the quantized file needs {needed} bytes, but only {free} are free; "
            "free some room in the model store and try again"
        )
    _run(order, progress, command)


def _dry_run(order: Order, progress: Progress, command: Sequence[str]) -> int:
    """How many bytes the new file will have, nearly; also finds most of what the engine would refuse."""
    lines = _run(replace(order, dry_run=True), lambda _: progress(0), command)
    size = result_bytes(lines)
    if size is None:
        raise QuantizeFailed("llama.cpp does not say how large the quantized file will be")
    header = Path(order.source).stat().st_size // 100 + (16 << 20)
    return size + header


def _run(order: Order, progress: Progress, command: Sequence[str]) -> tuple[str, ...]:
    """The last lines of the log of a run that went well."""
    kills, tail, done = oom_kills(), LogTail(), 0
    with _started((*command, encode(order).decode())) as process:
        for data in _pieces(process.stderr):
            done += sum(map(tensor_bytes, tail.feed(data)))
            progress(done)
        tail.end()
        code = process.wait()
    if code != DONE:
        raise QuantizeFailed(_why(code, tail.lines, oom_killed=oom_kills() > kills))
    return tail.lines


@contextmanager
def _started(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process; it is gone when the block is left."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=SOURCE_ROOT,
        )
    except OSError as error:
        raise QuantizeFailed(f"the quantizer cannot be started: {error}") from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stderr):
            if pipe is not None:
                pipe.close()


def _pieces(stream: IO[bytes] | None) -> Iterator[bytes]:
    """What comes, and nothing at all now and then while nothing comes."""
    assert stream is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(POLL_SECONDS):
                yield b""
                continue
            data = os.read(stream.fileno(), 65536)
            if not data:
                return
            yield data


def _why(code: int, lines: Sequence[str], *, oom_killed: bool) -> str:
    if code == BAD_IMPORTANCE:
        return "the importance matrix cannot be read; it must be a GGUF file that llama-imatrix wrote"
    said = failure(lines)
    if said:
        return said
    ended = describe_exit(code, lines, oom_killed=oom_killed)
    line = telling_line(lines)
    return f"the quantizer ended with {ended.reason}" + (f": {line}" if line else "")
