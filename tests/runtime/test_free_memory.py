"""Free memory of this very machine, and what is kept back for loaded models."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from runtime.free_memory import (
    UNLIMITED,
    Held,
    SystemMemory,
    has_device_library,
    own_bytes,
    system_bytes,
)
from runtime.process import SOURCE_ROOT

MIB = 1 << 20


def test_this_process_has_memory_of_its_own() -> None:
    assert 5 * MIB < own_bytes(os.getpid()) < 100_000 * MIB
    assert own_bytes(2**22 + 1) == 0


def test_what_loaded_models_have_not_taken_yet_is_kept_back(tmp_path: Path) -> None:
    memory = SystemMemory(tmp_path)
    free = memory.free_bytes([])
    own = own_bytes(os.getpid())
    assert 0 < free <= 1 << 50
    kept_back = free - memory.free_bytes([Held(os.getpid(), own + 512 * MIB)])
    assert 400 * MIB < kept_back < 624 * MIB
    assert memory.free_bytes([Held(os.getpid(), 1 << 60)]) == 0
    assert abs(free - memory.free_bytes([Held(os.getpid(), 1)])) < 200 * MIB


def test_devices_with_their_own_memory_lift_the_limit(tmp_path: Path) -> None:
    (tmp_path / "libggml-cpu.so").touch()
    assert not has_device_library(tmp_path)
    (tmp_path / "libggml-cuda.so.0").touch()
    assert has_device_library(tmp_path)
    assert SystemMemory(tmp_path).free_bytes([]) == UNLIMITED
    assert not has_device_library(tmp_path / "missing")


def test_a_limit_on_address_space_counts() -> None:
    """In a process of its own, since the limit could not be taken back."""
    limit = 3 << 30
    script = "from runtime.free_memory import system_bytes; print(system_bytes())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=SOURCE_ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        check=True,
    )
    assert 0 < int(done.stdout) < min(limit, system_bytes() + 512 * MIB)
