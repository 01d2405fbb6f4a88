"""kill -9 at any point of an import: no blob is wrong, no model is half there, and a repeat brings all."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from modelfiles.names import parse_name
from modelfiles.store import Store
from shim.exporting import plan_export, save_export
from tests.modelfiles.gguf.building import DENSE, STRING, gguf
from tests.shim.killing_imports import bring

REPOSITORY = Path(__file__).parents[2]
POINTS = 50
NAMES = {"one:q8_0", "two:q8_0"}


def files(folder: Path) -> Path:
    for name in ("one", "two"):
        (folder / "in" / name).mkdir(parents=True)
        data = gguf({**DENSE, "general.name": (STRING, name)})
        (folder / "in" / name / f"{name}-q8_0.gguf").write_bytes(data)
    return folder / "in"


def store(folder: Path) -> Path:
    bring(files(folder), folder / "other")
    return folder / "other"


def archive(folder: Path) -> Path:
    other = Store(store(folder))
    target = folder / "all.tar"
    save_export(other, plan_export(other, sorted(NAMES)), target, lambda done, total: None)
    return target


def run(folder: Path, path: Path, points: list[int]) -> int:
    command = [sys.executable, "-m", "tests.shim.killing_imports", str(folder), str(path), *map(str, points)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) if done.stdout else 0


def check_whole(root: Path) -> set[str]:
    """The models that there are, after checking that each and every blob is what its name says."""
    found = Store(root)
    for path in (root / "blobs").glob("*"):
        if len(path.name) == len("sha256-") + 64:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name[7:]
    for name in found.names():
        package = found.load(name)
        assert package.model_path is not None
        assert all(found.has_blob(digest) for digest in found.manifest(name).digests)
    return {name.display for name in found.names()}


@pytest.mark.slow
@pytest.mark.parametrize("make", [files, store, archive])
def test_killed_at_any_point(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "in").rglob("*.gguf")}
    lines = run(tmp_path / "runs", path, [0])
    assert lines > 500
    points = sorted(random.Random(31).sample(range(1, lines + 1), POINTS))
    run(tmp_path / "runs", path, points)
    counts = set()
    for point in points:
        root = tmp_path / "runs" / str(point)
        found = check_whole(root)
        assert found <= NAMES
        counts.add(len(found))
        bring(path, root)
        assert check_whole(root) == NAMES
        Store(root).remove_abandoned()
        assert all(len(name) == len("sha256-") + 64 for name in os.listdir(root / "blobs"))
        assert Store(root).load(parse_name("one:q8_0")).system == ""
    assert {0, 1} <= counts
    assert before == {file: file.stat().st_mtime_ns for file in before}
