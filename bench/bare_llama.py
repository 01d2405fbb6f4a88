"""llama.cpp itself: the shortest loop in C around the same shared libraries, compiled when the bench starts.

This is the reference. It samples by taking the largest logit, makes no text while the clock runs and reports
nothing, so a server can only come close to it.
"""

import importlib.util
import time
from pathlib import Path
from typing import Any

import psutil
from cffi import FFI

from bench.contenders import Setup
from bench.measures import Decoded, Memory, Prefilled, Stream
from runtime.native.build import find_llama

BATCH = 512
SOURCE = Path(__file__).with_name("bare_llama.c")
BUILD = Path(".cache") / "bench"
DECLARATIONS = """
typedef struct { ...; } bare;
bare *bare_open(const char *path, int n_ctx, int n_seq, int n_batch, int n_threads);
void bare_forget(bare *b);
int bare_tokenize(bare *b, const char *text, int length, int *tokens, int room);
int bare_read(bare *b, int sequence, const int *tokens, int n_tokens, int n_batch);
int bare_write(bare *b, int n_sequences, int *last, int *positions);
"""


def compiled() -> Any:
    """The C loop as a cffi module (ffi, lib), linked with the installed llama.cpp."""
    include, libraries = find_llama()
    builder = FFI()
    builder.cdef(DECLARATIONS)
    builder.set_source(
        "_bare_llama",
        SOURCE.read_text(),
        include_dirs=[str(include)],
        library_dirs=[str(libraries)],
        libraries=["llama"],
        extra_compile_args=["-O3"],
        extra_link_args=[f"-Wl,-rpath,{libraries}"],
    )
    built = builder.compile(tmpdir=str(BUILD))
    spec = importlib.util.spec_from_file_location("_bare_llama", built)
    assert spec is not None and spec.loader is not None  # noqa: PT018  both or neither
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BareLlama:
    """See `bench.contenders.Contender`."""

    def __init__(self, setup: Setup) -> None:
        module = compiled()
        self._ffi, self._lib = module.ffi, module.lib
        path = setup.model.encode()
        self._bare = self._lib.bare_open(path, setup.num_ctx, setup.slots, BATCH, setup.threads)
        if self._bare == self._ffi.NULL:
            raise RuntimeError(f"llama.cpp cannot load {setup.model}")

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        self._lib.bare_forget(self._bare)
        began = time.perf_counter()
        texts = [self._tokenize(prompt) for prompt in prompts]
        last = self._ffi.new("int[]", [self._read(text, at) for at, text in enumerate(texts)])
        positions = self._ffi.new("int[]", [len(text) for text in texts])
        arrivals = [time.perf_counter() - began]
        for _ in range(tokens - 1):
            if self._lib.bare_write(self._bare, len(prompts), last, positions):
                raise RuntimeError("llama_decode failed")
            arrivals.append(time.perf_counter() - began)
        return Decoded([Stream(tokens, arrivals)] * len(prompts))

    def prefill(self, prompt: str) -> Prefilled:
        self._lib.bare_forget(self._bare)
        began = time.perf_counter()
        text = self._tokenize(prompt)
        tokenized = time.perf_counter()
        self._read(text, 0)
        ended = time.perf_counter()
        return Prefilled(len(text), ended - tokenized, ended - began)

    def memory(self) -> Memory:
        return Memory(0, psutil.Process().memory_info().rss)

    def close(self) -> None:
        """The process ends now; it frees everything."""

    def _tokenize(self, text: str) -> list[int]:
        data = text.encode()
        room = self._ffi.new("int[]", len(data) + 2)
        count = self._lib.bare_tokenize(self._bare, data, len(data), room, len(data) + 2)
        return list(self._ffi.unpack(room, count))

    def _read(self, text: list[int], sequence: int) -> int:
        token = int(self._lib.bare_read(self._bare, sequence, self._ffi.new("int[]", text), len(text), BATCH))
        if token < 0:
            raise RuntimeError("llama_decode failed")
        return token
