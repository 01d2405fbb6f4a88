"""The process that quantises one file: `python -m runtime.quantize_worker ORDER`.

ORDER is a `runtime.quantize_order.Order` as JSON. What the engine logs goes to stderr, where
`runtime.quantize` reads how far it is. The process ends when its stdin is closed, so that it outlives
neither the server nor the request.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

from msgspec.json import decode

from runtime.binding.library import ffi, lib, start
from runtime.quantize_order import ABANDONED, Order
from runtime.threads import thread_count

# Rows of one tensor that are held at once: read, as floats, and written
MAX_BUFFER_BYTES = 256 << 20
_OOM_SCORE = 800  # the system should rather end this one than a model that people talk to


def quantize(order: Order) -> int:
    """Carry the order out; the code to end with."""
    patterns = [ffi.new("char[]", pattern.encode()) for pattern, _ in order.types]
    kept: list[Any] = [ffi.new("char *[]", patterns), ffi.new("int32_t[]", [kind for _, kind in order.types])]
    kept += [ffi.new("char[]", os.fsencode(path)) for path in (order.source, order.target, order.importance)]
    asked = ffi.new("shim_quantizing *")
    asked.patterns, asked.types, asked.n_types = kept[0], kept[1], len(patterns)
    asked.source, asked.target = kept[2], kept[3]
    asked.importance = kept[4] if order.importance else ffi.NULL
    asked.file_type = order.file_type
    asked.n_threads = thread_count()
    asked.max_buffer_bytes = MAX_BUFFER_BYTES
    asked.allow_requantize, asked.dry_run = order.allow_requantize, order.dry_run
    return int(lib.shim_quantize(asked))


def leave_with_stdin() -> None:
    """Wait for the end of stdin, then end the process, whatever native code is doing."""
    while os.read(0, 4096):
        pass
    os._exit(ABANDONED)


def main(arguments: Sequence[str]) -> int:
    """Entry point of the process."""
    order = decode(arguments[0], type=Order)
    threading.Thread(target=leave_with_stdin, daemon=True).start()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(_OOM_SCORE))
    os.nice(5)  # people who wait for an answer come first
    start()
    return quantize(order)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # the thread that waits for stdin holds nothing that wants clearing up
