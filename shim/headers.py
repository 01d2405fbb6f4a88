"""GGUF headers of the models in use, read once as long as their files stay the same.

Reading one takes up to a fifth of a second where the vocabulary is large, and every request needs it.
Blocking; safe from several threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from modelfiles.gguf import GGUF, read_gguf

_Stamp = tuple[int, int, int]


class Headers:
    """The last headers that were asked for; `capacity` bounds the memory, some 300 kB for a large model."""

    def __init__(self, capacity: int = 32) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, tuple[_Stamp, GGUF]] = OrderedDict()

    def read(self, path: Path) -> GGUF:
        """The header of the file as it is now. Raises BadGGUF, and OSError where it cannot be opened."""
        status = path.stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                self._known.move_to_end(path)
                return known[1]
        header = read_gguf(path)
        with self._lock:
            self._known[path] = (stamp, header)
            self._known.move_to_end(path)
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        return header
