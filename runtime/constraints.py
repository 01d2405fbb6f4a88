"""Answers that follow a grammar: llguidance says which tokens may come next, the engine lets only those by.

Masks are made here, on a thread of their own, while the model computes the logits that they are for. Grammars
are compiled on other threads, so that a big one holds up nobody. Nothing starts before a constraint comes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from runtime.binding.library import ffi, lib
from runtime.errors import BadOptions
from runtime.grammar_cache import Grammars
from runtime.matching import Grant, Mask, Matcher, TokenSource
from runtime.options import Constraint

log = logging.getLogger(__name__)

WAIT_MS = 1000  # how long the thread sleeps at most before it looks whether the engine has stopped
COMPILERS = 2  # one slow grammar must not hold up all others

GRANTS = {
    Grant.MASK: lib.SHIM_GRANT_MASK,
    Grant.ANY: lib.SHIM_GRANT_ANY,
    Grant.END: lib.SHIM_GRANT_END,
    Grant.FAILED: lib.SHIM_GRANT_FAILED,
}
Ready = Callable[[Matcher | BadOptions], None]


class Constraints:
    """The constrained requests of one native engine."""

    def __init__(self, engine: Any, source: TokenSource) -> None:
        self._engine = engine
        self._grammars = Grammars(source)
        self._words = (source.size + 31) // 32
        self._compiler = ThreadPoolExecutor(COMPILERS, thread_name_prefix="grammar")
        self._matchers: dict[int, Matcher] = {}
        self._thread: threading.Thread | None = None

    def prepare(self, constraint: Constraint, ready: Ready) -> None:
        """Compile on another thread, then call ``ready`` there with a Matcher or a BadOptions."""
        self._compiler.submit(self._prepare, constraint, ready)

    def _prepare(self, constraint: Constraint, ready: Ready) -> None:
        try:
            result: Matcher | BadOptions = self._grammars.compile(constraint)
        except BadOptions as problem:
            result = problem
        except Exception as problem:  # a fault of the library must not leave a request without an end
            log.exception("a grammar could not be compiled")
            result = BadOptions(f"the constraint cannot be compiled: {problem}")
        ready(result)

    def follow(self, request_id: int, matcher: Matcher) -> None:
        """Make the masks of a request that is about to be submitted."""
        self._matchers[request_id] = matcher
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="masks", daemon=True)
            self._thread.start()

    def forget(self, request_id: int) -> str:
        """The request has ended; what went wrong with its grammar, empty for nothing."""
        matcher = self._matchers.pop(request_id, None)
        return matcher.fault if matcher is not None else ""

    def close(self) -> None:
        """Wait until nobody uses the engine here; it must have been told to stop."""
        self._compiler.shutdown(wait=True, cancel_futures=True)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        want = ffi.new("shim_want *")
        while (got := lib.shim_engine_next_want(self._engine, WAIT_MS, want)) >= 0:
            if got:
                request_id = want.id
                lib.shim_engine_grant(self._engine, request_id, GRANTS[self._serve(want)])

    def _serve(self, want: Any) -> Grant:
        matcher = self._matchers.get(want.id)
        if matcher is None:
            return Grant.ANY  # it has ended meanwhile
        try:
            if want.token >= 0:
                matcher.advance(want.token)
            words = memoryview(ffi.buffer(want.mask, self._words * 4)).cast("B").cast("I")
            return matcher.fill(Mask(words, int(ffi.cast("uintptr_t", want.mask)), self._words))
        except Exception:  # the engine waits for an answer, whatever went wrong
            log.exception("a mask could not be made")
            return Grant.FAILED
