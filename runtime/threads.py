"""How many threads a model computes with.

Threads that wait for each other at every node of the graph must all run at once: a single one too many on a
limited machine costs up to a hundredfold. So the number follows what this process may really use (its CPU
affinity, its cgroup's quota) and counts physical cores, since two threads of one core share its vector units.
"""

from __future__ import annotations

import os
from pathlib import Path

from runtime.cgroups import cpu_quota

CPU_FOLDER = Path("/sys/devices/system/cpu")
SHORT_SPIN = "20000"  # for GOMP_SPINCOUNT: about 50 microseconds
QUIET_LOAD = 0.25  # runnable threads per processor, over the last minute


def choose_threads(cpus: int, cores: int | None, quota: float | None) -> int:
    """Number of threads for ``cpus`` usable logical CPUs on ``cores`` physical ones (None: unknown).

    ``quota`` is the CPU time that may be used per second of time; a part of a CPU is rounded down, because a
    throttled thread stops all others.
    """
    count = min(cpus, cores) if cores else cpus
    if quota is not None:
        count = min(count, int(quota + 0.01))
    return max(count, 1)


def processors_are_wanted() -> bool:
    """Whether enough else has been running lately that waiting threads should not spin for long.

    libgomp's default makes them spin for about a millisecond. On a quiet machine that is worth 3 % of the
    tokens a second. When others want the processor, it is taken from the very thread that is waited for: with
    two busy neighbours on two cores a token took 4 times as long as with short spinning.
    """
    try:
        busy = os.getloadavg()[0]
    except OSError:
        return True
    return busy > QUIET_LOAD * (os.cpu_count() or 1)


def thread_count(asked: int = 0) -> int:
    """The number to use: ``asked`` if it is positive, else what this process may use."""
    if asked > 0:
        return asked
    usable = _usable_cpus()
    return choose_threads(len(usable), _physical_cores(usable), cpu_quota())


def _usable_cpus() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _physical_cores(cpus: frozenset[int], folder: Path = CPU_FOLDER) -> int | None:
    """Physical cores behind ``cpus``; None where the system does not say."""
    cores: set[str] = set()
    for cpu in cpus:
        try:
            cores.add((folder / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip())
        except OSError:
            return _cores_by_psutil()
    return len(cores)


def _cores_by_psutil() -> int | None:
    import psutil  # only needed where there is no /sys

    cores = psutil.cpu_count(logical=False)
    return int(cores) if cores else None
