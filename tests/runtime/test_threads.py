"""Thread counts for machines of every shape."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.threads import _physical_cores, choose_threads, processors_are_wanted, thread_count


@pytest.mark.parametrize(
    ("cpus", "cores", "quota", "expected"),
    [
        (8, 8, None, 8),
        (16, 8, None, 8),  # two threads a core
        (2, 8, None, 2),  # affinity to two
        (8, 8, 2.0, 2),  # a container with a quota
        (8, 8, 2.9, 2),  # a throttled third thread would stop the two others
        (8, 8, 1.999, 2),  # but a rounded period is no reason to lose one
        (8, 4, 0.5, 1),
        (4, None, None, 4),
        (1, 1, None, 1),
    ],
)
def test_choice(cpus: int, cores: int | None, quota: float | None, expected: int) -> None:
    assert choose_threads(cpus, cores, quota) == expected


def test_an_asked_number_is_used() -> None:
    assert thread_count(17) == 17


def test_default_fits_this_machine() -> None:
    assert 1 <= thread_count() <= (os.cpu_count() or 1)


def test_siblings_are_one_core(tmp_path: Path) -> None:
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    assert _physical_cores(frozenset(range(4)), tmp_path) == 2
    assert _physical_cores(frozenset({0, 2}), tmp_path) == 1


@pytest.mark.parametrize(("load", "wanted"), [(0.0, False), (0.2, False), (0.6, True), (8.0, True)])
def test_threads_spin_long_only_on_a_quiet_machine(
    monkeypatch: pytest.MonkeyPatch, load: float, wanted: bool
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert processors_are_wanted() is wanted


def test_a_system_without_load_figures_counts_as_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tuple[float, float, float]:
        raise OSError("not here")

    monkeypatch.setattr(os, "getloadavg", refuse)
    assert processors_are_wanted()
