"""Opens the vocabulary of a GGUF file without its weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.binding.library import LOG_WARNING, ffi, lib, start
from runtime.binding.vocabulary import Vocabulary
from runtime.errors import LoadError


@contextmanager
def open_vocabulary(path: str) -> Iterator[Vocabulary]:
    """The vocabulary, valid inside the block. LoadError ("bad_model") for a file that has none."""
    start(LOG_WARNING)
    params = lib.llama_model_default_params()
    params.vocab_only = True
    model = lib.llama_model_load_from_file(path.encode(), params)
    if model == ffi.NULL:
        raise LoadError("bad_model", f"llama.cpp cannot read the vocabulary of {path}")
    try:
        yield Vocabulary(lib.llama_model_get_vocab(model))
    finally:
        lib.llama_model_free(model)
