"""llama.cpp itself: the shortest loop around the same shared libraries, by llama-cpp-python's plain bindings.

This is the reference. It samples by taking the largest logit, makes no text while the clock runs and reports
nothing, so a server can only come close to it.
"""

import ctypes
import time
from typing import Any

import llama_cpp
import numpy as np
import psutil

from bench.contenders import Setup
from bench.measures import Decoded, Memory, Prefilled, Stream

BATCH = 512


class BareLlama:
    """See `bench.contenders.Contender`."""

    def __init__(self, setup: Setup) -> None:
        self._quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        model = llama_cpp.llama_model_load_from_file(
            setup.model.encode(), llama_cpp.llama_model_default_params()
        )
        if model is None:
            raise RuntimeError(f"llama.cpp cannot load {setup.model}")
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = setup.num_ctx * setup.slots
        settings.n_seq_max = setup.slots
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_threads = settings.n_threads_batch = setup.threads
        self._model: Any = model
        self._context: Any = llama_cpp.llama_init_from_model(model, settings)
        self._vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._words = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self._batch = llama_cpp.llama_batch_init(BATCH, 0, 1)

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        self._forget()
        began = time.perf_counter()
        texts = [self._tokenize(prompt) for prompt in prompts]
        last = [self._read(text, sequence) for sequence, text in enumerate(texts)]
        arrivals = [time.perf_counter() - began]
        for step in range(tokens - 1):
            self._batch.n_tokens = len(prompts)
            for sequence, token in enumerate(last):
                self._put(sequence, token, len(texts[sequence]) + step, sequence, output=True)
            self._compute()
            last = [self._largest(sequence) for sequence in range(len(prompts))]
            arrivals.append(time.perf_counter() - began)
        return Decoded([Stream(tokens, arrivals)] * len(prompts))

    def prefill(self, prompt: str) -> Prefilled:
        self._forget()
        began = time.perf_counter()
        text = self._tokenize(prompt)
        tokenized = time.perf_counter()
        self._read(text, 0)
        ended = time.perf_counter()
        return Prefilled(len(text), ended - tokenized, ended - began)

    def memory(self) -> Memory:
        return Memory(0, psutil.Process().memory_info().rss)

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def _forget(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)

    def _tokenize(self, text: str) -> list[int]:
        data = text.encode()
        room = (llama_cpp.llama_token * (len(data) + 2))()
        count = llama_cpp.llama_tokenize(self._vocabulary, data, len(data), room, len(room), True, True)
        return list(room[:count])

    def _read(self, text: list[int], sequence: int) -> int:
        """Evaluates a prompt in batches; the next token."""
        for start in range(0, len(text), BATCH):
            part = text[start : start + BATCH]
            self._batch.n_tokens = len(part)
            for at, token in enumerate(part):
                self._put(at, token, start + at, sequence, output=start + at == len(text) - 1)
            self._compute()
        return self._largest(-1)

    def _put(self, at: int, token: int, position: int, sequence: int, *, output: bool) -> None:
        batch = self._batch
        batch.token[at] = token
        batch.pos[at] = position
        batch.n_seq_id[at] = 1
        batch.seq_id[at][0] = sequence
        batch.logits[at] = output

    def _compute(self) -> None:
        code = llama_cpp.llama_decode(self._context, self._batch)
        if code:
            raise RuntimeError(f"llama_decode says {code}")

    def _largest(self, index: int) -> int:
        logits = llama_cpp.llama_get_logits_ith(self._context, index)
        return int(np.argmax(np.ctypeslib.as_array(logits, (self._words,))))
