"""`shim doctor`: what each check finds on machines that are well and on others."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelfiles.store import Store
from runtime.canary import Verdict
from runtime.errors import LoadFailed
from shim.addresses import Address
from shim.cli import checks
from shim.cli.checks import (
    check_disk,
    check_memory,
    check_port,
    check_processor,
    check_store,
    cpu_flags,
)
from shim.cli.findings import Finding
from shim.settings import Settings
from tests.live.server import REPOSITORY
from tests.modelfiles.store.packing import blob, pack
from tests.shim.cli.scripted import Answer, ScriptedServer, Shim


def test_processors(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(
        "model name\t: x\nflags\t\t: fpu avx avx2 fma\n\nprocessor: 1\nflags\t\t: fpu avx avx2 fma\n"
    )
    assert cpu_flags(info) == {"fpu", "avx", "avx2", "fma"}
    assert check_processor(cpu_flags(info), "x86_64") == Finding("processor", "ok", "x86_64: avx, avx2, fma")
    old = check_processor(frozenset({"fpu", "avx"}), "x86_64")
    assert (old.state, old.found) == ("warning", "x86_64: avx; no avx2")
    assert old.remedy
    assert check_processor(cpu_flags(tmp_path / "none"), "arm64") == Finding("processor", "ok", "arm64")


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.free_memory.system_bytes", lambda: 1_500_000_000)
    assert (check_memory().state, check_memory().found) == ("warning", "1.5 GB free")
    monkeypatch.setattr("runtime.free_memory.system_bytes", lambda: 12_000_000_000)
    assert check_memory() == Finding("memory", "ok", "12 GB free")


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 4_000_000_000

    models = tmp_path / "not" / "yet"
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)
    assert (check_disk(models).state, check_disk(models).found) == ("warning", f"4 GB free at {models}")


def test_a_store_that_is_well_and_one_that_is_not(tmp_path: Path) -> None:
    assert check_store(tmp_path / "none").state == "ok"
    root = tmp_path / "models"
    weights_layer = blob(Store(root), "model", bytes(500))
    pack(Store(root), "m", weights_layer)
    pack(Store(root), "n", weights_layer)
    assert check_store(root) == Finding("store", "ok", f"2 models at {root}")
    weights = max((root / "blobs").iterdir(), key=lambda blob: blob.stat().st_size)
    with weights.open("ab") as file:
        file.write(b"more")
    longer = check_store(root)
    assert longer.state == "warning"
    assert "m:latest: sha256:" in longer.found
    assert " bytes instead of " in longer.found
    weights.unlink()
    assert "m:latest: " in check_store(root).found
    assert "is incomplete" in check_store(root).found


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port of something that listens and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_ports(server: ScriptedServer, taken_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_ANSWER_SECONDS", 0.05)
    server.answers["GET", "/api/version"] = Answer({"version": "0.33.0"})
    answering = check_port(Settings(host=Address(port=server.port)))
    assert (answering.state, answering.found) == (
        "ok", f"answers at http://127.0.0.1:{server.port}, API version 0.33.0",
    )  # fmt: skip
    taken = check_port(Settings(host=Address(port=taken_port)))
    assert taken.state == "failed"
    assert "Address already in use" in taken.found
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    assert "is free" in check_port(Settings(host=Address(port=free_port))).found
    elsewhere = check_port(Settings(host=Address(host="server.invalid")))
    assert (elsewhere.state, elsewhere.found) == ("warning", "nothing answers at http://server.invalid:11434")


def test_the_table_and_the_exit_code(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Finding("engine", "ok", "version 1"),
        Finding("disk", "warning", "4 GB free", "remove models"),
    ]
    monkeypatch.setattr(checks, "findings", lambda settings: iter(found))
    result = shim("doctor")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "CHECK     STATE      FOUND\n"
        "engine    ok         version 1\n"
        "disk      warning    4 GB free\n"
        "\n"
        "disk: remove models\n"
    )
    found.append(Finding("store", "failed", "cannot be read", "let this user read it"))
    result = shim("doctor")
    assert (result.code, result.out.splitlines()[-1]) == (1, "store: let this user read it")


def test_an_engine_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail() -> str:
        raise LoadFailed("engine", "not compiled")

    async def refuse(canary: object, types: object) -> Verdict:
        raise LoadFailed("engine", "this build does not work")

    async def slow(canary: object, types: object) -> Verdict:
        return Verdict(False, "using plain ones")

    monkeypatch.setattr("runtime.engine_check.engine_version", fail)
    assert (checks.check_engine().state, checks.check_engine().found) == ("failed", "not compiled")
    monkeypatch.setattr("runtime.canary.Canary.prove", refuse)
    assert checks.check_kernels(Settings()).state == "failed"
    monkeypatch.setattr("runtime.canary.Canary.prove", slow)
    assert checks.check_kernels(Settings()).state == "warning"


@pytest.mark.live
def test_this_machine(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "OLLAMA_HOST": "127.0.0.1:0", "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "shim.cli.main", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    states = {line.split()[0]: line.split()[1] for line in done.stdout.split("\n\n")[0].splitlines()[1:]}
    assert list(states) == ["engine", "kernels", "processor", "memory", "disk", "store", "server",
                            "mirrors", "proxy"]  # fmt: skip
    assert (states["engine"], states["store"]) == ("ok", "ok")
