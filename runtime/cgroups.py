"""What the control groups above this process leave it: CPU time and memory. Linux, versions 1 and 2.

Limits of every level count, the least of them wins. Elsewhere, and without limits, all answers are None.
"""

from __future__ import annotations

from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
CGROUP_OF_SELF = Path("/proc/self/cgroup")
VMSTAT = Path("/proc/vmstat")
NO_LIMIT_BYTES = 1 << 60  # version 1 writes a number of about this size for "no limit"


def cgroup_folders(text: str, root: Path = CGROUP) -> list[tuple[Path, str]]:
    """Folders whose limits bind a process, from its /proc/self/cgroup, each with "cpu", "memory" or "" (v2).

    All parents are listed, and the roots, because inside a container the path that /proc shows may not exist
    below the mounted root.
    """
    folders: list[tuple[Path, str]] = []
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for controller in {"cpu", "memory", ""} & set(names.split(",")):
            base = root / controller
            levels = [base / path.strip("/"), *(base / path.strip("/")).parents]
            folders += [(level, controller) for level in levels if level.is_relative_to(base)]
    return folders


def parse_cpu_max(text: str) -> float | None:
    """CPUs granted by a cgroup v2 ``cpu.max`` ("max 100000" or "QUOTA PERIOD")."""
    quota, _, period = text.strip().partition(" ")
    if quota == "max" or not quota:
        return None
    return int(quota) / int(period or 100_000)


def cpu_quota(root: Path = CGROUP, of_self: Path = CGROUP_OF_SELF) -> float | None:
    """CPUs that may be used: CPU time per time."""
    folders = _folders_of_self(root, of_self)
    quotas = [_folder_quota(folder, controller) for folder, controller in folders if controller != "memory"]
    return min((quota for quota in quotas if quota is not None), default=None)


def free_memory(root: Path = CGROUP, of_self: Path = CGROUP_OF_SELF) -> int | None:
    """Bytes that may still be used below the limits; cached file pages count as free, for they can go."""
    folders = _folders_of_self(root, of_self)
    rooms = [_folder_memory(folder, controller) for folder, controller in folders if controller != "cpu"]
    return min((room for room in rooms if room is not None), default=None)


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """How many processes this system has ended for want of memory since it started."""
    try:
        lines = vmstat.read_text().splitlines()
    except OSError:
        return 0
    counts = [int(line.split()[1]) for line in lines if line.startswith("oom_kill ")]
    return counts[0] if counts else 0


def _folders_of_self(root: Path, of_self: Path) -> list[tuple[Path, str]]:
    try:
        return cgroup_folders(of_self.read_text(), root)
    except OSError:
        return []


def _folder_quota(folder: Path, controller: str) -> float | None:
    try:
        if controller == "":
            return parse_cpu_max((folder / "cpu.max").read_text())
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        period = int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 else None


def _folder_memory(folder: Path, controller: str) -> int | None:
    if controller == "":
        limit_name, usage_name = "memory.max", "memory.current"
    else:
        limit_name, usage_name = "memory.limit_in_bytes", "memory.usage_in_bytes"
    try:
        limit = (folder / limit_name).read_text().strip()
        if limit == "max" or int(limit) >= NO_LIMIT_BYTES:
            return None
        used = int((folder / usage_name).read_text()) - _cached((folder / "memory.stat").read_text())
    except (OSError, ValueError):
        return None
    return max(int(limit) - max(used, 0), 0)


def _cached(stat: str) -> int:
    """Bytes of droppable file pages in a ``memory.stat`` of either version, children included."""
    fields = dict(line.split(maxsplit=1) for line in stat.splitlines() if " " in line)
    prefix = "total_" if "total_inactive_file" in fields else ""
    return sum(int(fields.get(prefix + name, 0)) for name in ("inactive_file", "active_file"))
