"""One loaded model that serves many requests at once; the hot loop runs in C on a thread of its own.

Python tokenises prompts, hands requests over, and turns C events into values. It decides nothing while
tokens are made. Fits `runtime.engine_protocol.Engine`; see there for what every method promises.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from runtime.binding import devices, library
from runtime.binding.library import ffi, lib
from runtime.binding.model import LoadedModel, load_model
from runtime.binding.reports import Pending, Reports
from runtime.binding.requests import NativeRequest, usable_stops
from runtime.binding.sampling import NativeSampling
from runtime.binding.vocabulary import Vocabulary
from runtime.constraints import Constraints
from runtime.embeddings import EmbeddingPlan, plan_embeddings, rerank_template
from runtime.errors import BadOptions, LoadError
from runtime.events import Embed, EngineEvent, EngineInfo, Stats, Submit
from runtime.matching import Matcher
from runtime.options import LoadOptions, SamplingOptions
from runtime.prompts import TooLong, fit_prompt
from runtime.threads import thread_count

CHECKPOINT_BYTES = 256 << 20  # of recurrent state kept for each slot; see native/slot.c
PREFILL_SLICE_NS = 120_000_000  # running streams pause at most about this long for somebody else's prompt


def load_engine(
    path: str, architecture: str, options: LoadOptions, on_progress: Callable[[float], bool]
) -> NativeEngine:
    """Load the GGUF and start its loop. Blocks; ``on_progress(fraction)`` returning False aborts
    (LoadError).
    """
    began = time.monotonic()
    version = library.start()
    free_before = devices.gpu_free_bytes()
    threads = thread_count(options.num_thread)
    loaded = load_model(path, architecture, options, threads, on_progress)
    embeddings = plan_embeddings(loaded.model, architecture)
    config = {
        **embeddings.config(),
        **loaded.adapters.fields,
        "n_slots": loaded.num_parallel,
        "n_ctx_slot": loaded.num_ctx,
        "n_batch": loaded.num_batch,
        "n_threads": threads,
        "checkpoint_bytes": CHECKPOINT_BYTES,
        "prefill_slice_ns": PREFILL_SLICE_NS,
    }
    handle = lib.shim_engine_new(loaded.context, ffi.new("shim_engine_config *", config)[0])
    if handle == ffi.NULL:
        loaded.close()
        raise LoadError("out_of_memory", "no memory for the engine's own tables")
    engine = NativeEngine(loaded, handle, options, embeddings)
    try:
        engine.warm_up()
    except LoadError:
        engine.close()
        raise
    device_bytes = max(0, free_before - devices.gpu_free_bytes())
    engine.describe(version, device_bytes, time.monotonic() - began)
    return engine


def resident_bytes() -> int:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class NativeEngine:
    """See `runtime.engine_protocol.Engine`."""

    info: EngineInfo

    def __init__(
        self, loaded: LoadedModel, handle: Any, options: LoadOptions, embeddings: EmbeddingPlan
    ) -> None:
        self.vocabulary = Vocabulary(loaded.vocab)
        self._loaded = loaded
        self._handle = handle
        self._options = options
        self._embeddings = embeddings
        self._generates = lib.llama_get_memory(loaded.context) != ffi.NULL  # else it only makes embeddings
        self._reports = Reports(self.vocabulary)
        self._constraints = Constraints(handle, self.vocabulary)
        self._reading = threading.Lock()  # one reader, and none while the engine is freed
        self._calling = threading.Lock()  # the handle is not freed under a submit or cancel
        self._requests: dict[int, Pending] = {}
        self._compiling: set[int] = set()  # requests whose grammar is not ready; under _calling
        self._thread = threading.Thread(
            target=lib.shim_engine_run, args=(handle,), name="decode", daemon=True
        )
        self._closed = False

    def warm_up(self) -> None:
        """Start the loop and wait for its first token; LoadError where the model cannot be evaluated."""
        self._thread.start()
        code = lib.shim_engine_wait_ready(self._handle)
        if code != 0:
            raise LoadError("engine", f"the model could not be evaluated (llama_decode: {code})")

    def describe(self, version: str, device_bytes: int, load_seconds: float) -> None:
        """Fill in ``info`` once everything is known."""
        loaded, model = self._loaded, self._loaded.model
        self.info = EngineInfo(
            num_ctx=loaded.num_ctx,
            num_parallel=loaded.num_parallel,
            n_ctx_train=int(lib.llama_model_n_ctx_train(model)),
            n_vocab=self.vocabulary.size,
            n_layer=int(lib.llama_model_n_layer(model)),
            pooling=self._embeddings.pooling,
            rerank_template=rerank_template(model),
            is_hybrid=bool(lib.llama_model_is_hybrid(model)),
            is_recurrent=bool(lib.llama_model_is_recurrent(model)),
            can_shift=bool(lib.llama_memory_can_shift(lib.llama_get_memory(loaded.context))),
            bos=self.vocabulary.bos,
            eos=self.vocabulary.eos,
            add_bos=self.vocabulary.adds_bos,
            **self.vocabulary.special(),
            model_bytes=int(lib.llama_model_size(model)),
            device_bytes=device_bytes,
            host_bytes=resident_bytes(),
            extra_buffers=self._options.extra_buffers is not False,
            llama_version=version,
            load_seconds=load_seconds,
        )

    def submit(self, request: Submit) -> None:
        """Tokenise, fit to the context, queue. Never raises for a bad request: a Failed event answers it."""
        try:
            sampling = NativeSampling(
                request.sampling,
                self.vocabulary,
                self._loaded.num_ctx,
                constrained=request.constraint is not None,
            )
            tokens, truncated = self._prompt(request)
        except TooLong as problem:
            self._reject(request.id, lib.SHIM_FAILED_TOO_LONG, str(problem))
            return
        except BadOptions as problem:
            self._reject(request.id, lib.SHIM_FAILED_BAD_REQUEST, str(problem))
            return
        stops = usable_stops(request.sampling)
        echo = tokens if request.echo_tokens else None
        self._requests[request.id] = Pending(stops, echo, truncated)
        native = NativeRequest(request, sampling, tokens, stops, self._keep(request.sampling, len(tokens)))
        if request.constraint is None:
            self._queue(request.id, native)
            return
        with self._calling:
            self._compiling.add(request.id)
        self._constraints.prepare(
            request.constraint, lambda found: self._queue_constrained(request.id, native, found)
        )

    def _queue(self, request_id: int, native: NativeRequest) -> None:
        with self._calling:
            accepted = not self._closed and lib.shim_engine_submit(self._handle, native.value)
        if not accepted:
            self._reject(request_id, lib.SHIM_FAILED_ENGINE, "out of memory")

    def _queue_constrained(self, request_id: int, native: NativeRequest, found: Matcher | BadOptions) -> None:
        """Called on another thread when the grammar is compiled."""
        with self._calling:
            if self._closed or request_id not in self._compiling:
                return
            self._compiling.discard(request_id)
            if isinstance(found, Matcher):
                self._constraints.follow(request_id, found)
        if isinstance(found, Matcher):
            self._queue(request_id, native)
        else:
            self._reject(request_id, lib.SHIM_FAILED_BAD_REQUEST, str(found))

    def embed(self, request: Embed) -> None:
        """See the protocol."""
        try:
            tokens = self._text(request)
        except TooLong as problem:
            self._reject(request.id, lib.SHIM_FAILED_TOO_LONG, str(problem))
            return
        except BadOptions as problem:
            self._reject(request.id, lib.SHIM_FAILED_BAD_REQUEST, str(problem))
            return
        ids = ffi.from_buffer("int32_t[]", array("i", tokens))
        with self._calling:
            accepted = not self._closed and lib.shim_engine_embed(self._handle, request.id, ids, len(tokens))
        if not accepted:
            self._reject(request.id, lib.SHIM_FAILED_ENGINE, "out of memory")

    def _text(self, request: Embed) -> list[int]:
        self.vocabulary.check(request.tokens)
        if not request.tokens:
            raise BadOptions("the text has no tokens")
        if len(request.tokens) > self._loaded.num_ctx:
            most = self._loaded.num_ctx
            raise TooLong(f"the text has {len(request.tokens)} tokens, the context holds {most}")
        return request.tokens

    def _prompt(self, request: Submit) -> tuple[list[int], int]:
        """Token ids that fit the context, and how many were dropped."""
        if not self._generates:
            raise BadOptions("this model makes embeddings and cannot generate text")
        prompt = request.prompt
        if isinstance(prompt, str):
            tokens = self.vocabulary.tokenize(prompt, request.add_special)
        else:
            tokens = prompt
            self.vocabulary.check(tokens)
        if not tokens:
            raise BadOptions("the prompt has no tokens")
        return fit_prompt(
            tokens,
            num_ctx=self._loaded.num_ctx,
            num_keep=self._keep(request.sampling, len(tokens)),
            shift=request.shift,
            truncate=request.truncate,
        )

    def _keep(self, sampling: SamplingOptions, n_tokens: int) -> int:
        keep = sampling.num_keep + self.vocabulary.adds_bos if sampling.num_keep >= 0 else n_tokens
        return min(keep, n_tokens)

    def _reject(self, request_id: int, reason: int, message: str) -> None:
        with self._calling:
            if not self._closed:
                lib.shim_engine_reject(self._handle, request_id, reason, message.encode())

    def cancel(self, request_id: int) -> None:
        """See the protocol."""
        with self._calling:
            if self._closed:
                return
            if request_id in self._compiling:
                self._compiling.discard(request_id)
                lib.shim_engine_withdraw(self._handle, request_id)
            else:
                lib.shim_engine_cancel(self._handle, request_id)

    def wait_events(self, timeout_seconds: float) -> list[EngineEvent]:
        """See the protocol."""
        with self._reading:
            if self._closed:
                return []
            view = self._reports.view
            count = lib.shim_engine_wait(self._handle, int(timeout_seconds * 1000), view)
            return [self._event(view.events[index]) for index in range(max(count, 0))]

    def _event(self, event: Any) -> EngineEvent:
        if event.kind == lib.SHIM_EVENT_TOKEN:
            return self._reports.token(event)
        if event.kind == lib.SHIM_EVENT_EMBEDDING:
            return self._reports.embedding(event)
        pending = self._requests.pop(event.id, Pending())
        fault = self._constraints.forget(event.id)
        return self._reports.end(event, replace(pending, fault=fault) if fault else pending)

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """See the protocol."""
        return self.vocabulary.tokenize(text, add_special)

    def detokenize(self, tokens: Sequence[int]) -> str:
        """See the protocol."""
        return self.vocabulary.detokenize(tokens)

    def logits(self, tokens: Sequence[int]) -> list[float]:
        """Logits after the last token, one per vocabulary entry. For tests; only while nothing runs."""
        self.vocabulary.check(tokens)
        out = ffi.new("float[]", self.vocabulary.size)
        ids = ffi.from_buffer("int32_t[]", array("i", tokens))
        code = lib.shim_engine_logits(self._handle, ids, len(tokens), out)
        if code != 0:
            raise LoadError("engine", f"the model could not be evaluated (code {code})")
        return list(ffi.unpack(out, self.vocabulary.size))

    def stats(self) -> Stats:
        """See the protocol."""
        native = ffi.new("shim_stats *")
        with self._calling:
            if not self._closed:
                lib.shim_engine_stats(self._handle, native)
        return Stats(
            steps=native.steps,
            decode_ns=native.decode_ns,
            own_ns=native.own_ns,
            prompt_tokens=native.prefill_tokens,
            generated_tokens=native.tokens,
            active=native.busy,
            queued=native.queued,
        )

    def close(self) -> None:
        """See the protocol. Waits for the decode that is under way."""
        with self._calling:
            if self._closed:
                return
            self._closed = True
            lib.shim_engine_stop(self._handle)
        if self._thread.ident is not None:
            self._thread.join()
        self._constraints.close()
        with self._reading:
            lib.shim_engine_free(self._handle)
            self._loaded.close()
