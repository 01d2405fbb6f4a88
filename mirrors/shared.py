"""One download for all who want the same blob, in this process and in others.

A lock of the system on a file beside the unfinished one says whose work it is. It goes with its process,
however that ends; a lock file that merely lies there means nothing. Where locks do not work, as on some
network file systems, every process works on a file of its own.
"""

import fcntl
import json
import os
import socket
import time
from pathlib import Path


class BlobLock:
    """Exclusive right to one unfinished file. Not for threads: one owner a process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Whether it is ours now. Never waits."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
        self._descriptor = descriptor
        return True

    def works(self) -> bool:
        """Whether others are really kept out while it is ours."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
