"""Everything that this package raises on purpose, in one tree.

    RuntimeFailure
    ├── BadOptions            our caller's fault: an option that no engine can honour
    ├── WireError             a broken or oversized frame between server and worker
    ├── ConnectionGone        the socket to a worker was closed (becomes WorkerDied with the reason)
    ├── QueueFull             more requests wait than the settings allow
    ├── SupervisorClosed      the server is going down
    ├── GenerationFailed      one request failed; the model lives on
    ├── QuantizeFailed        a file could not be quantized
    ├── WorkerDied            the model's process ended while somebody used it
    └── LoadError             an engine could not be made from a file (raised inside the worker)
        └── LoadFailed        the same as the server sees it, with the engine's last log lines
            └── InsufficientMemory   refused before loading: the estimate exceeds what is free

Knows nothing of HTTP: which status an error becomes is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence


class RuntimeFailure(Exception):
    """Root of the package's errors."""


class BadOptions(RuntimeFailure):
    """A load or sampling option has a value that no engine can honour; the text names the option."""


class WireError(RuntimeFailure):
    """A frame is malformed or larger than the limit."""


class ConnectionGone(RuntimeFailure):
    """The worker's end of the socket was closed; everything that it said before has been delivered."""


class QueueFull(RuntimeFailure):
    """As many requests wait for a model as the settings allow."""


class SupervisorClosed(RuntimeFailure):
    """The supervisor is closing or closed and takes no more requests."""


class GenerationFailed(RuntimeFailure):
    """One request failed; ``kind`` is that of ``events.Failed``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class QuantizeFailed(RuntimeFailure):
    """A file could not be quantized; the text says why, most often in the engine's words."""


class WorkerDied(RuntimeFailure):
    """The worker process ended while a request was using it.

    ``signal`` is the name of the signal ("SIGKILL") or "" when it exited by itself; ``reason`` says in words
    what happened; ``last_lines`` are the last lines that the engine logged, oldest first, and ``detail`` the
    one of them that speaks of a fault, "" if none does.
    """

    def __init__(
        self, reason: str, *, signal: str = "", last_lines: Sequence[str] = (), detail: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.signal = signal
        self.last_lines = tuple(last_lines)
        self.detail = detail


class LoadError(RuntimeFailure):
    """An engine could not be made.

    ``kind`` is "bad_model", "out_of_memory", "unsupported", "aborted" or "engine"; the supervisor adds "died"
    (the worker process ended) and "stalled" (no progress within the load timeout).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class LoadFailed(LoadError):
    """A load ended without a model; ``last_lines`` are the engine's last log lines, oldest first."""

    def __init__(self, kind: str, message: str, *, last_lines: Sequence[str] = ()) -> None:
        super().__init__(kind, message)
        self.last_lines = tuple(last_lines)


class InsufficientMemory(LoadFailed):
    """The model needs more memory than could be made free; nothing was loaded."""

    def __init__(self, message: str, *, required_bytes: int, available_bytes: int) -> None:
        super().__init__("out_of_memory", message)
        self.required_bytes = required_bytes
        self.available_bytes = available_bytes
