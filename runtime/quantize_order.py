"""What the quantizing process is told, and the codes that it ends with. Values only."""

from __future__ import annotations

from msgspec import Struct

DONE, FAILED, BAD_IMPORTANCE = 0, 1, 2  # those of shim_quantize in native/quantize.h
ABANDONED = 3


class Order(Struct, frozen=True, forbid_unknown_fields=True):
    """What to make of which file. Numbers are those of GGUF: `general.file_type` and tensor types.

    `types` holds regular expressions of tensor names and a tensor type for each; the first that matches
    counts. `importance` is the path of a GGUF that llama-imatrix wrote, or empty. With `dry_run` nothing is
    written, only the sizes are logged.
    """

    source: str
    target: str
    file_type: int
    types: tuple[tuple[str, int], ...] = ()
    importance: str = ""
    allow_requantize: bool = False
    dry_run: bool = False
