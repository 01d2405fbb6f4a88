"""Several processes in one store: they create and delete models that share their weights."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BlobNotFound, ModelNotFound, StoreError
from modelfiles.names import parse_name
from modelfiles.store import Store
from tests.modelfiles.gguf.building import MIXTURE, gguf

REPOSITORY = Path(__file__).parents[2]
ROUNDS = 12


def create_and_delete(root: Path, file: Path, own_name: str) -> None:
    """A name of one's own and one that all fight for."""
    store = Store(root)
    for number in range(ROUNDS):
        make(store, file, own_name, f"{own_name} {number}")
        store.delete(parse_name(own_name))
        make(store, file, "ours", f"{own_name} {number}")
        with suppress(ModelNotFound):
            store.delete(parse_name("ours"))


def make(store: Store, file: Path, name: str, system: str) -> None:
    """Another process may delete the last model with these weights before ours has its name: then again."""
    for _ in range(50):
        try:
            digest = store.link_file(file).digest
            create(store, CreateRequest(model=name, files={"a.gguf": digest}, system=system), silent)
        except BlobNotFound:
            continue
        except StoreError as error:
            if "removed by someone else" not in str(error):
                raise
        else:
            return
    raise StoreError(f"{name} could not be made")


def silent(_: Progress) -> None:
    """Nobody watches."""


@pytest.mark.slow
def test_processes_do_not_break_each_others_models(tmp_path: Path) -> None:
    file = tmp_path / "weights.gguf"
    file.write_bytes(gguf(MIXTURE))
    code = (
        "import sys; from pathlib import Path; from tests.modelfiles.test_sharing import create_and_delete\n"
        "create_and_delete(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])"
    )
    root = tmp_path / "models"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(root), str(file), name], cwd=REPOSITORY)
        for name in ("one", "two", "three")
    ]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
    store = Store(root)
    assert store.names() == []
    assert list((root / "blobs").iterdir()) == []
    make(store, file, "last", "last")
    assert store.load(parse_name("last")).system == "last"
    assert file.read_bytes() == gguf(MIXTURE)
