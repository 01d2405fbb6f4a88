"""What an engine is: one loaded model that serves many requests at once.

The real one (`runtime.engine`) and the one without weights (`runtime.fake`) both fit this and pass the same
tests. Knows no process and no socket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from runtime.events import Embed, EngineEvent, EngineInfo, Stats, Submit
from runtime.options import LoadOptions


class Engine(Protocol):
    """Requests beyond the number of slots wait in the engine's own queue, first in first out.

    Every submitted request gets exactly one ``Finished`` or ``Failed``, after all of its ``Token`` events.
    """

    @property
    def info(self) -> EngineInfo:
        """What was loaded."""
        ...

    def submit(self, request: Submit) -> None:
        """Queue a request; from any thread, never blocks. A bad request is answered by a ``Failed``."""
        ...

    def embed(self, request: Embed) -> None:
        """Queue a text; from any thread, never blocks. Answered by one ``Embedded`` or ``Failed``."""
        ...

    def cancel(self, request_id: int) -> None:
        """End a request within one decode step with reason "cancelled"; unknown ids are ignored."""
        ...

    def wait_events(self, timeout_seconds: float) -> list[EngineEvent]:
        """Block, without the GIL, until something happened; empty after the timeout or when closed."""
        ...

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """Token ids of ``text``; special tokens written in it are recognised."""
        ...

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of ``tokens``; BadOptions for an id outside the vocabulary."""
        ...

    def stats(self) -> Stats:
        """Totals since the load."""
        ...

    def close(self) -> None:
        """Stop, free everything, wake a blocked ``wait_events``. Twice is no error."""
        ...


class EngineLoader(Protocol):
    """Makes an engine from a GGUF file."""

    def __call__(
        self, path: str, architecture: str, options: LoadOptions, on_progress: Callable[[float], bool]
    ) -> Engine:
        """Blocks until loaded. ``on_progress(fraction)`` returning False aborts; raises errors.LoadError."""
        ...
