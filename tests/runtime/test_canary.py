"""The engine check: right numbers on this machine, and what follows when a build dies or lies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.canary import Canary, Verdict, verdict_key
from runtime.errors import LoadFailed

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
DIES_WITH_EXTRA = f"import sys\nif '--extra' in sys.argv: {DIES}\nprint('{{\"fault\": \"\"}}')"
LIES_WITH_EXTRA = (
    "import sys, json; print(json.dumps({'fault': 'off by 3' if '--extra' in sys.argv else ''}))"
)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize("extra", [["--extra"], []])
def test_this_build_multiplies_right(extra: list[str]) -> None:
    types = ["Q4_0", "Q4_1", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "MXFP4", "F16", "BF16"]
    out = subprocess.run(
        [sys.executable, "-m", "runtime.canary", *extra, *types], capture_output=True, check=True, timeout=120
    )
    result = json.loads(out.stdout)
    assert result["fault"] == ""
    assert 0 < result["worst"] < 0.05


async def test_the_real_check_is_remembered(tmp_path: Path) -> None:
    memory = tmp_path / "cache" / "engine.json"
    assert await Canary(memory).prove(["Q4_1"]) == Verdict(True)
    again = Canary(memory, command=python(DIES))  # would die if it ran
    assert await again.prove(["Q4_1"]) == Verdict(True)


@pytest.mark.parametrize(("code", "said"), [(DIES_WITH_EXTRA, "SIGILL"), (LIES_WITH_EXTRA, "off by 3")])
async def test_a_bad_layout_is_stepped_down_from(tmp_path: Path, code: str, said: str) -> None:
    verdict = await Canary(tmp_path / "engine.json", command=python(code)).prove(["Q4_K"])
    assert not verdict.extra_buffers
    assert said in verdict.reason
    assert "plain" in verdict.reason


async def test_a_build_that_always_dies_is_refused(tmp_path: Path) -> None:
    memory = tmp_path / "engine.json"
    with pytest.raises(LoadFailed, match=r"does not work on this processor.*SIGILL"):
        await Canary(memory, command=python(DIES)).prove(["Q4_K"])
    assert not memory.exists()


async def test_a_damaged_memory_is_made_anew(tmp_path: Path) -> None:
    memory = tmp_path / "engine.json"
    memory.write_text("{half")
    assert await Canary(memory, command=python('print(\'{"fault": ""}\')')).prove(["Q4_K"]) == Verdict(True)
    assert json.loads(memory.read_text())


def test_key_follows_library_processor_and_types(tmp_path: Path) -> None:
    (tmp_path / "libggml-cpu.so").write_bytes(b"one")
    first = verdict_key(tmp_path, ["Q4_K", "F32"], "cpu")
    assert first == verdict_key(tmp_path, ["F32", "Q4_K"], "cpu")
    assert first != verdict_key(tmp_path, ["F32"], "cpu")
    assert first != verdict_key(tmp_path, ["Q4_K", "F32"], "other cpu")
    (tmp_path / "libggml-cpu.so").write_bytes(b"two")
    assert first != verdict_key(tmp_path, ["Q4_K", "F32"], "cpu")
