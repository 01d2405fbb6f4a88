"""Runs a job in a process of its own and kills it, like `kill -9`, before a chosen line of our code.

    python -m tests.modelfiles.killing FOLDER JOB POINT...

For each point a child is forked that does the job in the store FOLDER/POINT and dies before its POINT-th
line in `modelfiles`; point 0 lets it live and prints how many lines there are. One process starts all of
them, because starting an interpreter takes longer than the job.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from modelfiles.create import CreateRequest, create
from modelfiles.quantizing import Job
from modelfiles.store import Store

_OURS = os.sep + "modelfiles" + os.sep


def linked(folder: Path) -> None:
    """Link a file and make a model of it, over one that is there."""
    store = Store(folder / "models")
    layer = store.link_file(folder / "weights.gguf")
    request = CreateRequest(
        model="m",
        files={"weights.gguf": layer.digest},
        system="new",
        licenses=("license",),
        parameters={"seed": 1},
    )
    create(store, request, lambda item: None)


def parts(folder: Path) -> None:
    """Make a model of three parts that are in the store, over one that is there."""
    store = Store(folder / "models")
    files = {path.name: store.link_file(path).digest for path in sorted(folder.glob("x-*.gguf"))}
    create(store, CreateRequest(model="m", files=files, system="new"), lambda item: None)


def quantized(folder: Path) -> None:
    """Link a file and make a model of it whose weights are written anew."""
    store = Store(folder / "models")
    files = {"weights.gguf": store.link_file(folder / "weights.gguf").digest}
    request = CreateRequest(model="m", files=files, system="new", quantize="F16", allow_requantize=True)
    create(store, request, lambda item: None, quantizer=_rewrite)


def _rewrite(job: Job, done: Callable[[int], None]) -> None:
    data = job.source.read_bytes()
    with job.target.open("r+b") as file:
        for at in range(0, len(data), 4096):
            file.write(data[at : at + 4096])
            done(at)


JOBS: dict[str, Callable[[Path], None]] = {"linked": linked, "parts": parts, "quantized": quantized}


class _Reaper:
    """A trace function that kills its own process before a certain line."""

    def __init__(self, point: int) -> None:
        self.lines = 0
        self._point = point

    def __call__(self, frame: FrameType, event: str, _: Any) -> "_Reaper | None":
        if _OURS not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._point:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def main(folder: Path, job: Callable[[Path], None], points: list[int]) -> None:
    for point in points:
        child = os.fork()
        if child == 0:
            reaper = _Reaper(point)
            sys.settrace(reaper)
            job(folder / str(point))
            sys.settrace(None)
            os.write(1, f"{reaper.lines}\n".encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status not in (0, signal.SIGKILL):
            sys.exit(f"point {point}: the job ended with status {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), JOBS[sys.argv[2]], [int(text) for text in sys.argv[3:]])
