"""Imports in a process of its own that dies, like `kill -9`, before a chosen line of our code.

    python -m tests.shim.killing_imports FOLDER PATH POINT...

For each point a child is forked that imports PATH into the store FOLDER/POINT and dies before its POINT-th
line; point 0 lets it live and prints how many lines there are.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from mirrors.imports.recognising import find
from modelfiles.store import Store
from shim.importing import Import
from shim.unpacking import unpack

_OURS = tuple(f"{os.sep}{name}{os.sep}" for name in ("modelfiles", "mirrors", "shim"))


def bring(path: Path, folder: Path) -> None:
    """All that is at the path."""
    store = Store(folder)
    found = find(path)
    work = Import(store)
    for item in work.plan(found):
        done = work.carry_out(item, lambda name, count, total: None)
        assert done.outcome in ("new", "there"), done.detail
    for archive in found.archives:
        with open(archive, "rb") as stream:
            unpack(store, stream, lambda name, count, total: None)


class _Reaper:
    def __init__(self, point: int) -> None:
        self.lines = 0
        self._point = point

    def __call__(self, frame: FrameType, event: str, _: Any) -> "_Reaper | None":
        name = frame.f_code.co_filename
        if f"{os.sep}tests{os.sep}" in name or not any(part in name for part in _OURS):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._point:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def main(folder: Path, path: Path, points: list[int]) -> None:
    for point in points:
        child = os.fork()
        if child == 0:
            reaper = _Reaper(point)
            sys.settrace(reaper)
            bring(path, folder / str(point))
            sys.settrace(None)
            os.write(1, f"{reaper.lines}\n".encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status not in (0, signal.SIGKILL):
            sys.exit(f"point {point}: the import ended with status {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [int(text) for text in sys.argv[3:]])
