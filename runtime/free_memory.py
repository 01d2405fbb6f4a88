"""How much memory a new model may take, read from the system.

The free memory that a system reports counts the pages of mapped files as free, although a loaded model that
loses them would be read from disk again for every token. So what the loaded models were estimated to need and
have not yet taken as memory of their own is kept back for them.
"""

from __future__ import annotations

import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtime.canary import find_libraries
from runtime.cgroups import free_memory

# Back ends with memory of their own, about which this process knows nothing. (Metal shares the system's.)
DEVICE_BACKENDS = ("cuda", "hip", "musa", "vulkan", "sycl", "cann", "opencl")
UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Held:
    """A loaded model: its worker, and the bytes of system memory that it will need in all."""

    pid: int
    needed: int


class SystemMemory:
    """Reads the system; ``find_libraries`` names the folder that tells which back ends were built."""

    def __init__(self, libraries: Path | None = None) -> None:
        self._has_devices = has_device_library(libraries or find_libraries())

    def free_bytes(self, loaded: Iterable[Held]) -> int:
        """What a new model may take beside the loaded ones.

        With back ends that have memory of their own there is no limit: the engine itself finds out then.
        """
        if self._has_devices:
            return UNLIMITED
        held_back = sum(max(held.needed - own_bytes(held.pid), 0) for held in loaded)
        return max(system_bytes() - held_back, 0)


def has_device_library(folder: Path | None) -> bool:
    """Whether the engine's libraries in ``folder`` can compute on devices with their own memory."""
    if folder is None or not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    return any(f"ggml-{backend}" in name for backend in DEVICE_BACKENDS for name in names)


def system_bytes() -> int:
    """Available memory of the system, under the limits of control groups and of this user."""
    import psutil  # costs 20 ms, and only a load needs it

    limits = [int(psutil.virtual_memory().available), free_memory(), address_space_bytes()]
    return min(limit for limit in limits if limit is not None)


def address_space_bytes() -> int | None:
    """What a limit on address space (``ulimit -v``) leaves to a process that begins like this one."""
    import psutil

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(limit - int(psutil.Process().memory_info().vms), 0)


def own_bytes(pid: int) -> int:
    """Memory of a process that no file backs; 0 when it is gone. Elsewhere than on Linux, all it has."""
    import psutil

    try:
        info = psutil.Process(pid).memory_info()
    except psutil.Error:
        return 0
    return int(info.rss) - int(getattr(info, "shared", 0))
