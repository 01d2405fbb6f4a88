"""kill -9 at any point of a create: a name means its old or its new model, whole, and a repeat succeeds."""

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, create
from modelfiles.names import parse_name
from modelfiles.store import Store
from tests.modelfiles.gguf.building import DENSE, I32, MIXTURE, U16, Tensor, gguf
from tests.modelfiles.killing import JOBS

REPOSITORY = Path(__file__).parents[2]
LONG_AGO_NS = 1_000_000_000_123_456_789
POINTS = 24
TENSORS: list[Tensor] = [("a", (2048,), 0, 0, 8192)]


def prepare(folder: Path) -> None:
    """The user's files, and a store in which m is an older model."""
    folder.mkdir()
    (folder / "weights.gguf").write_bytes(gguf(MIXTURE, TENSORS))
    for index in range(3):
        keys = {"split.no": (U16, index), "split.count": (U16, 3), "split.tensors.count": (I32, 3)}
        tensors: list[Tensor] = [(f"t{index}", (2048,), 0, 0, 8192)]
        data = gguf({**(DENSE if index == 0 else {}), **keys}, tensors)
        (folder / f"x-{index + 1:05}-of-00003.gguf").write_bytes(data)
    for path in folder.glob("*.gguf"):
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    store = Store(folder / "models")
    files = {"old.gguf": store.write_blob([gguf()])}
    create(store, CreateRequest(model="m", files=files, system="old"), lambda item: None)


def run(folder: Path, job: str, points: list[int]) -> int:
    """Do the job once for each point; return the number of lines of the run that lives, if there is one."""
    for point in points:
        prepare(folder / str(point))
    command = [sys.executable, "-m", "tests.modelfiles.killing", str(folder), job, *map(str, points)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) if done.stdout else 0


def unfinished(store: Store) -> list[str]:
    """Files in the store that have neither the name of a blob nor of a manifest."""
    blobs = [name for name in os.listdir(store.root / "blobs") if len(name) != len("sha256-") + 64]
    folders = (store.root / "manifests", store.root / "shim" / "linked")
    return blobs + [path.name for folder in folders for path in folder.rglob(".new-*")]


def check_whole(store: Store) -> str:
    """Every blob is what its name says, and m is complete; return its system text."""
    for name in os.listdir(store.root / "blobs"):
        if len(name) == len("sha256-") + 64:
            assert hashlib.sha256((store.root / "blobs" / name).read_bytes()).hexdigest() == name[7:]
    assert [name.display for name in store.names()] == ["m:latest"]
    package = store.load(parse_name("m"))
    for digest in store.manifest(package.name).digests:
        assert store.has_blob(digest)
    assert package.model_path is not None
    is_old = package.model_path.read_bytes() == gguf()
    assert package.system == ("old" if is_old else "new")
    return package.system


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_killed_at_any_point(tmp_path: Path, job: str) -> None:
    lines = run(tmp_path, job, [0])
    assert lines > 500
    points = sorted(random.Random(23).sample(range(1, lines + 1), POINTS))
    run(tmp_path, job, points)
    outcomes = set()
    for point in points:
        folder = tmp_path / str(point)
        store = Store(folder / "models")
        outcomes.add(check_whole(store))
        half_written = unfinished(store)
        assert sorted(store.remove_abandoned()) == sorted(half_written)
        assert unfinished(store) == []
        JOBS[job](folder)
        assert check_whole(store) == "new"
        assert unfinished(store) == []
        for path in folder.glob("*.gguf"):
            assert path.stat().st_mtime_ns == LONG_AGO_NS
            assert path.stat().st_nlink <= 2
    assert "old" in outcomes
