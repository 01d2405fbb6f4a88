"""An engine without weights: same behaviour at its edges as the real one, text that depends on nothing else.

For tests of everything above an engine, with real worker processes and real faults. What it says is decided
in `runtime.fake_script`. Loading is steered by key overrides, since a path names a real file in most tests:
"fake.n_ctx_train", "fake.model_bytes", "fake.load_fail" (a kind), "fake.load_die" (as the prompt's die),
"fake.load_stall" (true: no progress for ever), "fake.load_until" (half-way, wait for a file of that path).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

from runtime.errors import BadOptions, LoadError
from runtime.events import (
    Embed,
    EngineEvent,
    EngineInfo,
    Failed,
    FailureKind,
    Finished,
    LoadFailureKind,
    Stats,
    Submit,
)
from runtime.fake_embedding import embedded
from runtime.fake_grammar import Guide, fake_grammars
from runtime.fake_script import BOS, EOS, N_VOCAB, decode_tokens, encode_text
from runtime.fake_sequence import FakeSequence
from runtime.options import LoadOptions

_POLL_SECONDS = 0.002  # how often a gate file is looked for
_STEP_SECONDS = 0.00005


class FakeEngine:
    """One thread makes a token for every busy slot in turn; see `runtime.engine_protocol.Engine`."""

    def __init__(self, info: EngineInfo) -> None:
        self._info = info
        self._grammars = fake_grammars()
        self._changed = threading.Condition()
        self._queue: deque[FakeSequence] = deque()
        self._slots: list[FakeSequence | None] = [None] * info.num_parallel
        self._caches: list[list[int]] = [[] for _ in range(info.num_parallel)]
        self._events: list[EngineEvent] = []
        self._steps = self._prompt_tokens = self._generated_tokens = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="fake-engine", daemon=True)
        self._thread.start()

    @property
    def info(self) -> EngineInfo:
        """What was "loaded"."""
        return self._info

    def submit(self, request: Submit) -> None:
        """Queue a request; what cannot be served is answered by a Failed."""
        try:
            sequence = FakeSequence(request, self._info.num_ctx, self._guide(request))
        except BadOptions as error:
            self._report(Failed(request.id, "bad_request", str(error)))
            return
        if sequence.script.log:
            print(sequence.script.log, file=sys.stderr, flush=True)
        refused = _refuse(sequence, self._info.num_ctx)
        with self._changed:
            if refused is not None:
                self._events.append(refused)
            else:
                self._queue.append(sequence)
            self._changed.notify_all()

    def _guide(self, request: Submit) -> Guide | None:
        """BadOptions for a constraint that cannot be compiled."""
        if request.constraint is None:
            return None
        return Guide(self._grammars.compile(request.constraint))

    def embed(self, request: Embed) -> None:
        """A vector that depends on the tokens alone."""
        self._report(embedded(request, self._info.num_ctx))

    def cancel(self, request_id: int) -> None:
        """End a waiting or running request."""
        with self._changed:
            for sequence in [*self._queue, *self._slots]:
                if sequence is not None and sequence.request.id == request_id:
                    self._remove(sequence)
                    self._events.append(sequence.finish("cancelled", "cancelled"))
            self._changed.notify_all()

    def wait_events(self, timeout_seconds: float) -> list[EngineEvent]:
        """Whatever happened since the last call, or happens within the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._closed, timeout_seconds)
            events, self._events = self._events, []
            return events

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """One token a byte."""
        return encode_text(text, add_special)

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``."""
        return decode_tokens(tokens)

    def stats(self) -> Stats:
        """Totals since the load."""
        with self._changed:
            return Stats(
                steps=self._steps,
                prompt_tokens=self._prompt_tokens,
                generated_tokens=self._generated_tokens,
                active=sum(slot is not None for slot in self._slots),
                queued=len(self._queue),
            )

    def close(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _report(self, event: EngineEvent) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _remove(self, sequence: FakeSequence) -> None:
        if sequence in self._queue:
            self._queue.remove(sequence)
        else:
            self._slots[self._slots.index(sequence)] = None

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                self._admit()
                talking = [slot for slot in self._slots if slot is not None and not _silent(slot)]
                pause = self._pause_seconds(talking)
                if pause is None or pause > 0:
                    self._changed.wait(pause)
                self._step([sequence for sequence in talking if sequence in self._slots])
            time.sleep(_STEP_SECONDS)  # without the lock, or nobody else would ever get it

    def _pause_seconds(self, talking: list[FakeSequence]) -> float | None:
        """How long to wait before the next step; None: until something changes."""
        if talking:
            return max(sequence.script.delay_seconds for sequence in talking)
        gated = any(slot is not None and slot.script.until for slot in self._slots)
        return _POLL_SECONDS if gated else None

    def _admit(self) -> None:
        """Give waiting requests to free slots, and count what the slot still knows of the prompt."""
        for index, slot in enumerate(self._slots):
            if slot is None and self._queue:
                sequence = self._queue.popleft()
                sequence.cached_tokens = _common(self._caches[index], sequence.prompt[:-1])
                self._slots[index] = sequence
                self._prompt_tokens += len(sequence.prompt)

    def _step(self, sequences: list[FakeSequence]) -> None:
        for sequence in sequences:
            if sequence.script.die and len(sequence.generated) >= sequence.script.die_after:
                self._changed.wait(0.05)  # the tokens so far leave first, as they would with a real model
                die(sequence.script.die)
            events = sequence.step()
            self._events += events
            self._generated_tokens += 1
            if events and isinstance(events[-1], Finished):
                index = self._slots.index(sequence)
                self._caches[index] = sequence.prompt + sequence.generated
                self._slots[index] = None
        if sequences:
            self._steps += 1
            self._changed.notify_all()


def _refuse(sequence: FakeSequence, num_ctx: int) -> Failed | None:
    """The answer to a request that cannot run."""
    request_id, kind = sequence.request.id, sequence.script.fail
    if kind:
        return Failed(request_id, cast(FailureKind, kind), f"the prompt asked for a failure: {kind}")
    if not sequence.prompt:
        return Failed(request_id, "bad_request", "the prompt has no tokens")
    if not sequence.fits:
        text = f"the prompt has {sequence.asked} tokens, the context holds {num_ctx}"
        return Failed(request_id, "too_long", text)
    return None


def _silent(sequence: FakeSequence) -> bool:
    until = sequence.script.until
    return sequence.held or bool(until and sequence.generated and not os.path.exists(until))


def _common(cached: list[int], prompt: list[int]) -> int:
    """Length of the common start."""
    size = 0
    while size < min(len(cached), len(prompt)) and cached[size] == prompt[size]:
        size += 1
    return size


def die(how: str) -> None:
    """End this process as a crash in native code would: by a signal's name, "abort" or "exit"."""
    if how == "exit":
        os._exit(3)
    if how == "abort":
        os.abort()
    os.kill(os.getpid(), signal.Signals[how])


def load_fake_engine(
    path: str, architecture: str, options: LoadOptions, on_progress: Callable[[float], bool]
) -> FakeEngine:
    """Same signature and errors as the real loader; the file need not exist."""
    given = options.kv_overrides
    for step in range(5):
        _report_progress(step / 4, on_progress)
        if step == 2:
            _load_fault(given, on_progress)
    n_ctx_train = int(given.get("fake.n_ctx_train", 131072))
    size = os.path.getsize(path) if os.path.exists(path) else 0
    model_bytes = int(given.get("fake.model_bytes", size))
    return FakeEngine(_info(options, n_ctx_train, model_bytes))


def _report_progress(fraction: float, on_progress: Callable[[float], bool]) -> None:
    if not on_progress(fraction):
        raise LoadError("aborted", "the load was aborted")


def _load_fault(given: dict[str, int | float | bool | str], on_progress: Callable[[float], bool]) -> None:
    if "fake.load_fail" in given:
        kind = cast(LoadFailureKind, given["fake.load_fail"])
        raise LoadError(kind, f"the options asked for a failure: {kind}")
    if "fake.load_die" in given:
        print("fake engine: dying during the load", file=sys.stderr, flush=True)
        die(str(given["fake.load_die"]))
    while given.get("fake.load_stall"):
        time.sleep(_POLL_SECONDS)
    gate = given.get("fake.load_until")
    while isinstance(gate, str) and not os.path.exists(gate):
        time.sleep(_POLL_SECONDS)
        _report_progress(0.5, on_progress)


def _info(options: LoadOptions, n_ctx_train: int, model_bytes: int) -> EngineInfo:
    return EngineInfo(
        num_ctx=min(options.num_ctx, n_ctx_train),
        num_parallel=options.num_parallel,
        n_ctx_train=n_ctx_train,
        n_vocab=N_VOCAB,
        n_layer=1,
        is_hybrid=False,
        is_recurrent=False,
        can_shift=True,
        bos=BOS,
        eos=EOS,
        add_bos=True,
        model_bytes=model_bytes,
        device_bytes=0,
        host_bytes=model_bytes,
        extra_buffers=False,
        llama_version="fake",
        load_seconds=0.0,
    )
