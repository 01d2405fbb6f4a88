"""Loads the native module once and proves that it meets the llama.cpp it was compiled for.

Knows nothing of models. Importing this module loads llama.cpp's shared libraries (about 30 MB), so only
worker processes and tests do.
"""

from __future__ import annotations

import os
from typing import Any

from runtime.errors import LoadError
from runtime.threads import SHORT_SPIN, processors_are_wanted

# libgomp reads its settings when the library is loaded; whoever has set this one keeps it.
if "GOMP_SPINCOUNT" not in os.environ and processors_are_wanted():
    os.environ["GOMP_SPINCOUNT"] = SHORT_SPIN

try:
    from runtime.native._engine import ffi as _ffi
    from runtime.native._engine import lib as _lib
except ImportError as problem:  # not compiled, or a shared library is missing
    raise LoadError(
        "engine",
        f"the native engine cannot be loaded ({problem}); reinstall with `make setup`, or `pip install "
        "--force-reinstall moe-shim`, so that it is compiled on this machine",
    ) from problem

ffi: Any = _ffi
lib: Any = _lib

LOG_INFO = 2  # ggml's own numbers
LOG_WARNING = 3


def text(pointer: Any) -> str:
    """A C string as text."""
    return str(ffi.string(pointer).decode("utf-8", "replace"))


def engine_version() -> str:
    """ "llama.cpp version / ggml version" of the libraries that are loaded."""
    return f"{text(lib.llama_version())} / {text(lib.ggml_version())}"


def check_version() -> str:
    """The loaded engine's version; LoadError where it is not the one that the binding was compiled for.

    Struct layouts follow the version: going on with another one would corrupt memory.
    """
    loaded, wanted = engine_version(), text(lib.shim_built_for())
    if loaded != wanted:
        raise LoadError(
            "engine",
            f"this build needs llama.cpp / ggml {wanted}, but the libraries found are {loaded}; "
            "install llama-cpp-python==0.3.36 again or correct SHIM_LLAMA_LIB",
        )
    return loaded


def start(log_level: int = LOG_INFO) -> str:
    """Prepare the process: engine log to stderr, version checked, backends found. Returns the version."""
    lib.shim_log_to_stderr(log_level)
    version = check_version()
    lib.llama_backend_init()
    return version
