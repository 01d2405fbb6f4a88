"""Links to the parts of split models: names in order, made once, gone with the parts."""

import os
from pathlib import Path

import pytest

from modelfiles.errors import BlobNotFound
from modelfiles.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def test_one_part_is_the_blob_itself(store: Store) -> None:
    digest = store.write_blob([b"a"])
    assert store.engine_path([digest]) == store.blob_path(digest)
    assert os.listdir(store.root) == ["blobs"]


def test_parts_lie_side_by_side_in_their_order(store: Store) -> None:
    digests = [store.write_blob([data]) for data in (b"b", b"a", b"c")]
    first = store.engine_path(digests)
    assert first.name == "model-00001-of-00003.gguf"
    assert [path.read_bytes() for path in sorted(first.parent.iterdir())] == [b"b", b"a", b"c"]
    assert store.engine_path(digests) == first
    assert store.engine_path(digests[::-1]).parent != first.parent
    assert len(os.listdir(first.parent.parent)) == 2


def test_a_store_may_be_moved(store: Store, tmp_path: Path) -> None:
    digests = [store.write_blob([data]) for data in (b"a", b"b")]
    name = store.engine_path(digests).relative_to(store.root)
    store.root.rename(tmp_path / "moved")
    assert (tmp_path / "moved" / name).read_bytes() == b"a"


def test_links_go_with_their_blobs(store: Store) -> None:
    digests = [store.write_blob([data]) for data in (b"a", b"b", b"c")]
    gone, kept = store.engine_path(digests[:2]), store.engine_path(digests[1:])
    store.blob_path(digests[0]).unlink()
    store.prune()
    assert not gone.parent.exists()
    assert kept.read_bytes() == b"b"
    with pytest.raises(BlobNotFound):
        store.engine_path(digests)


def test_what_was_killed_while_it_made_links_goes_when_it_is_old(store: Store) -> None:
    folder = store.engine_path([store.write_blob([b"a"]), store.write_blob([b"b"])]).parent.parent
    for name, age in ((".new-1", 0), (".new-2", 120)):
        (folder / name).mkdir()
        moment = (folder / name).stat().st_mtime - age
        os.utime(folder / name, (moment, moment))
    store.prune()
    assert {name for name in os.listdir(folder) if name.startswith(".")} == {".new-1"}
