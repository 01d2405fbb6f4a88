"""LoRA adapters of a model: loaded before its context is made, applied to every context of it.

llama.cpp reads an adapter's GGUF itself and says in its log what is wrong with one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from runtime.binding.library import ffi, lib
from runtime.errors import LoadError


class Adapters:
    """The adapters of one model, which owns and frees them. ``fields``: what the C engine wants to know."""

    def __init__(self, handles: Sequence[Any] = (), scales: Sequence[float] = ()) -> None:
        self._handles = ffi.new("struct llama_adapter_lora *[]", list(handles) or 1)
        self._scales = ffi.new("float[]", list(scales) or 1)
        self.fields: dict[str, Any] = {
            "adapters": self._handles,
            "adapter_scales": self._scales,
            "n_adapters": len(handles),
        }


def load_adapters(model: Any, wanted: Sequence[tuple[str, float]]) -> Adapters:
    """Load them all, in order, as (path, scale). LoadError names the one that cannot be applied."""
    return Adapters([_load(model, path, scale) for path, scale in wanted], [scale for _, scale in wanted])


def _load(model: Any, path: str, scale: float) -> Any:
    name = os.path.basename(path)
    if not math.isfinite(scale):
        raise LoadError("unsupported", f"the adapter {name} has the scale {scale}; a finite number is needed")
    if not os.path.exists(path):
        raise LoadError("bad_model", f"the adapter {name} is not there any more; create the model again")
    handle = lib.llama_adapter_lora_init(model, path.encode())
    if handle == ffi.NULL:
        raise LoadError(
            "bad_model",
            f"the adapter {name} cannot be applied: it is damaged, or was made for another model; "
            "the engine's own words are in the log lines",
        )
    if lib.llama_adapter_get_alora_n_invocation_tokens(handle):
        raise LoadError(
            "unsupported",
            f"the adapter {name} is an activated one (aLoRA), which works only behind its own invocation "
            "text; this version applies adapters to the whole text: use a plain LoRA adapter",
        )
    return handle
