"""Hashes a file while it grows: a thread follows the bytes that are there without a gap from the start on.

When the last byte comes, only what came lately is left to hash. Knows nothing of where bytes come from.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator

from mirrors.errors import DiskFailed

Read = Callable[[int, int], Iterator[bytes]]


class Front:
    """SHA-256 of a growing file. `read(start, end)` gives its bytes, and is called in a thread of ours."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._hash = hashlib.sha256()
        self._change = threading.Condition()
        self._reach = self._done = 0
        self._failure: DiskFailed | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="download-hash", daemon=True)
        self._thread.start()

    @property
    def done(self) -> int:
        """How many bytes are hashed."""
        return self._done

    def advance(self, reach: int) -> None:
        """The first `reach` bytes are there and will not change."""
        with self._change:
            self._reach = max(self._reach, reach)
            self._change.notify_all()

    def digest(self, size: int) -> str:
        """Waits for the first `size` bytes to be hashed. Blocking. Raises DiskFailed."""
        self.advance(size)
        with self._change:
            self._change.wait_for(lambda: self._done >= size or self._failure or self._stopped)
            if self._failure is not None:
                raise self._failure
            return "sha256:" + self._hash.hexdigest()

    def restart(self) -> None:
        """Bytes changed that were hashed: from the start again. Only while nobody advances."""
        self.stop()
        self._hash = hashlib.sha256()
        self._reach = self._done = 0
        self._failure, self._stopped = None, False
        self._thread = threading.Thread(target=self._run, name="download-hash", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread. Blocking, for as long as one read takes."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    def _run(self) -> None:
        try:
            while (span := self._next()) is not None:
                for chunk in self._read(*span):
                    self._hash.update(chunk)
                    self._done += len(chunk)
                    if self._stopped:
                        return
                if self._done < span[1]:
                    raise DiskFailed(f"the unfinished file ends at {self._done} bytes, before {span[1]}")
                with self._change:
                    self._change.notify_all()
        except DiskFailed as error:
            with self._change:
                self._failure = error
                self._change.notify_all()

    def _next(self) -> tuple[int, int] | None:
        with self._change:
            self._change.wait_for(lambda: self._reach > self._done or self._stopped)
            return None if self._stopped else (self._done, self._reach)
