"""Compute devices and their buffer types, as llama.cpp sees them."""

from __future__ import annotations

from typing import Any

from runtime.binding.library import ffi, lib, text
from runtime.errors import LoadError


def _devices() -> list[Any]:
    return [lib.ggml_backend_dev_get(index) for index in range(lib.ggml_backend_dev_count())]


def _is_gpu(device: Any) -> bool:
    return lib.ggml_backend_dev_type(device) in (
        lib.GGML_BACKEND_DEVICE_TYPE_GPU,
        lib.GGML_BACKEND_DEVICE_TYPE_IGPU,
    )


def gpu_free_bytes() -> int:
    """Free memory of all GPUs together; 0 without one."""
    total = 0
    for device in filter(_is_gpu, _devices()):
        free, size = ffi.new("size_t *"), ffi.new("size_t *")
        lib.ggml_backend_dev_memory(device, free, size)
        total += int(free[0])
    return total


def buffer_type(name: str) -> Any:
    """The buffer type with this name ("CPU", "CUDA0" …, any case); LoadError lists those that there are."""
    known = {}
    for device in _devices():
        kind = lib.ggml_backend_dev_buffer_type(device)
        known[text(lib.ggml_backend_buft_name(kind)).lower()] = kind
        known[text(lib.ggml_backend_dev_name(device)).lower()] = kind
    if name.lower() not in known:
        raise LoadError(
            "unsupported", f"no device or buffer named {name!r}; there are: {', '.join(sorted(known))}"
        )
    return known[name.lower()]
