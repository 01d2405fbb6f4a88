"""GGUF headers of the models in use, read once as long as their files stay the same.

Reading one takes up to a fifth of a second where the vocabulary is large, and every request needs it.
Blocking; safe from several threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from modelfiles.gguf import GGUF, read_gguf
from modelfiles.gguf.split import whole_header

_Stamp = tuple[tuple[int, int, int], ...]


class Headers:
    """The last headers that were asked for; `capacity` bounds the memory, some 300 kB for a large model."""

    def __init__(self, capacity: int = 32) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Path, ...], tuple[_Stamp, GGUF]] = OrderedDict()

    def read(self, *paths: Path) -> GGUF:
        """The header of the file as it is now, or of all parts of a split model, which are given in order.

        Raises BadGGUF, and OSError where one cannot be opened.
        """
        stamp = tuple(map(_stamp, paths))
        with self._lock:
            known = self._known.get(paths)
            if known is not None and known[0] == stamp:
                self._known.move_to_end(paths)
                return known[1]
        header = read_header(*paths)
        with self._lock:
            self._known[paths] = (stamp, header)
            self._known.move_to_end(paths)
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        return header


def read_header(*paths: Path, arrays: bool = False) -> GGUF:
    """The same, read now; with `arrays`, long ones are kept too."""
    headers = [read_gguf(path, arrays=arrays) for path in paths]
    return headers[0] if len(headers) == 1 else whole_header(headers)


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)
