"""From a Submit to the C engine's request, which copies everything that it is given."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from runtime.binding.library import ffi
from runtime.binding.sampling import NativeSampling, clamp
from runtime.events import Submit
from runtime.options import SamplingOptions


class NativeRequest:
    """A shim_request with all that it points to. ``value`` is valid as long as this object."""

    def __init__(
        self,
        request: Submit,
        sampling: NativeSampling,
        tokens: Sequence[int],
        stops: Sequence[str],
        n_keep: int,
    ) -> None:
        self._sampling = sampling
        self._stops = [ffi.new("char[]", stop.encode("utf-8", "replace")) for stop in stops]
        self._pointers = ffi.new("char *[]", self._stops or 1)
        self._ids = ffi.from_buffer("int32_t[]", array("i", tokens))
        self.value = ffi.new("shim_request *", _fields(request, sampling, len(tokens), n_keep))
        self.value.tokens, self.value.stops, self.value.n_stops = self._ids, self._pointers, len(stops)


def usable_stops(sampling: SamplingOptions) -> tuple[str, ...]:
    """The stop strings that can ever be met."""
    return tuple(stop for stop in sampling.stop if stop and "\0" not in stop)


def _fields(request: Submit, sampling: NativeSampling, n_tokens: int, n_keep: int) -> dict[str, Any]:
    return {
        "id": request.id,
        "n_tokens": n_tokens,
        "sampling": sampling.fields,
        "n_predict": clamp(request.sampling.num_predict),
        "n_keep": n_keep,
        "n_logprobs": request.logprobs,
        "shift": request.shift,
        "want_ids": request.echo_tokens,
        "special": False,
        "constrained": request.constraint is not None,
    }
