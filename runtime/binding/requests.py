"""From a Submit to the C engine's request, which copies everything that it is given."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Sequence
from typing import Any

from runtime.binding.library import ffi
from runtime.events import Submit
from runtime.options import SamplingOptions

NO_SEED = 0xFFFFFFFF  # llama.cpp takes this one for "random"


class NativeRequest:
    """A shim_request with all that it points to. ``value`` is valid as long as this object."""

    def __init__(self, request: Submit, tokens: Sequence[int], stops: Sequence[str], n_keep: int) -> None:
        self._stops = [ffi.new("char[]", stop.encode("utf-8", "replace")) for stop in stops]
        self._pointers = ffi.new("char *[]", self._stops or 1)
        self._ids = ffi.from_buffer("int32_t[]", array("i", tokens))
        self.value = ffi.new("shim_request *", _fields(request, len(tokens), n_keep))
        self.value.tokens, self.value.stops, self.value.n_stops = self._ids, self._pointers, len(stops)


def usable_stops(sampling: SamplingOptions) -> tuple[str, ...]:
    """The stop strings that can ever be met."""
    return tuple(stop for stop in sampling.stop if stop and "\0" not in stop)


def _fields(request: Submit, n_tokens: int, n_keep: int) -> dict[str, Any]:
    return {
        "id": request.id,
        "n_tokens": n_tokens,
        "sampling": sampling_fields(request.sampling),
        "n_predict": clamp(request.sampling.num_predict),
        "n_keep": n_keep,
        "n_logprobs": request.logprobs,
        "shift": request.shift,
        "want_ids": request.echo_tokens,
        "special": False,
        "constrained": request.constraint is not None,
    }


def sampling_fields(s: SamplingOptions) -> dict[str, Any]:
    """The fields of shim_sampling."""
    seed = s.seed % NO_SEED if s.seed >= 0 else secrets.randbelow(NO_SEED)
    return {
        "seed": seed,
        "top_k": clamp(s.top_k),
        "top_p": s.top_p,
        "min_p": s.min_p,
        "typical_p": s.typical_p,
        "temperature": s.temperature,
        "repeat_last_n": clamp(s.repeat_last_n),
        "repeat_penalty": s.repeat_penalty if s.repeat_penalty > 0 else 1.0,
        "presence_penalty": s.presence_penalty,
        "frequency_penalty": s.frequency_penalty,
    }


def clamp(value: int) -> int:
    """A Python int as C's int32."""
    return max(-(1 << 31), min(value, (1 << 31) - 1))
