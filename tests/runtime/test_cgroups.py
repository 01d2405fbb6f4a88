"""Limits of control groups, read from trees like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.cgroups import cgroup_folders, cpu_quota, free_memory, oom_kills, parse_cpu_max

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max 100000\n", None), ("200000 100000\n", 2.0), ("50000 100000", 0.5), ("150000", 1.5), ("", None)],
)
def test_cpu_max(text: str, expected: float | None) -> None:
    assert parse_cpu_max(text) == expected


def test_version_2_takes_the_least_limit_of_all_levels(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "self": "0::/user/app",
            "fs/user/app/cpu.max": "max 100000",
            "fs/user/cpu.max": "150000 100000",
            "fs/user/app/memory.max": str(4 * GIB),
            "fs/user/app/memory.current": str(3 * GIB),
            "fs/user/app/memory.stat": f"anon 5\nfile 9\ninactive_file {GIB // 2}\nactive_file {GIB // 2}",
            "fs/user/memory.max": "max",
        },
    )
    assert cpu_quota(tmp_path / "fs", tmp_path / "self") == 1.5
    assert free_memory(tmp_path / "fs", tmp_path / "self") == 2 * GIB


def test_version_1(tmp_path: Path) -> None:
    stat = f"cache 9\ninactive_file 1\nactive_file 1\ntotal_inactive_file {GIB}\ntotal_active_file 0"
    write(
        tmp_path,
        {
            "self": "5:cpu,cpuacct:/box\n4:memory:/box\n1:name=systemd:/x",
            "fs/cpu/box/cpu.cfs_quota_us": "300000",
            "fs/cpu/box/cpu.cfs_period_us": "100000",
            "fs/cpu/cpu.cfs_quota_us": "-1",
            "fs/cpu/cpu.cfs_period_us": "100000",
            "fs/memory/box/memory.limit_in_bytes": str(2 * GIB),
            "fs/memory/box/memory.usage_in_bytes": str(2 * GIB),
            "fs/memory/box/memory.stat": stat,
            "fs/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert cpu_quota(tmp_path / "fs", tmp_path / "self") == 3.0
    assert free_memory(tmp_path / "fs", tmp_path / "self") == GIB


def test_a_container_sees_its_limit_at_the_root(tmp_path: Path) -> None:
    """/proc shows a path of the host that does not exist below the mounted root."""
    write(tmp_path, {"self": "0::/docker/abc", "fs/cpu.max": "100000 100000"})
    assert cpu_quota(tmp_path / "fs", tmp_path / "self") == 1.0


def test_no_cgroups_no_limits(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path, tmp_path / "missing") is None
    assert free_memory(tmp_path, tmp_path / "missing") is None


def test_folders_never_leave_the_root() -> None:
    root = Path("/sys/fs/cgroup")
    folders = [folder for folder, _ in cgroup_folders("0::/a/b\n3:memory:/\n2:freezer:/z", root)]
    assert folders == [root / "a/b", root / "a", root, root / "memory"]


def test_oom_kills_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"vmstat": "nr_free_pages 5\noom_kill 3"})
    assert oom_kills(tmp_path / "vmstat") == 3
    assert oom_kills(tmp_path / "missing") == 0
