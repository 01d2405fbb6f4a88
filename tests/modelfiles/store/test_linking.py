"""Files of the user in the store: not copied, hashed once, never touched, and watched."""

import errno
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from modelfiles.errors import BadGGUF, StoreError
from modelfiles.store import Store
from modelfiles.store import blobs as blobs_module
from modelfiles.store import linking as linking_module
from modelfiles.store.paths import Layout
from modelfiles.store.records import Records
from tests.modelfiles.gguf.building import gguf

LONG_AGO_NS = 1_000_000_000_123_456_789


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Hashing:
    """Counts the bytes that go through the hash."""

    def __init__(self) -> None:
        self.count = 0

    def update(self, data: bytes) -> None:
        self.count += len(data)
        self._hash.update(data)

    def sha256(self) -> "Hashing":
        self._hash = hashlib.sha256()
        return self

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    counter = Hashing()
    monkeypatch.setattr(blobs_module, "hashlib", counter)
    return counter


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file that has not been changed for long."""
    path = tmp_path / "weights.gguf"
    path.write_bytes(gguf())
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def blob_of(store: Store, path: Path) -> Path:
    return store.blob_path(digest_of(path.read_bytes()))


def temporary_files(store: Store) -> list[str]:
    return [name for name in os.listdir(store.root / "blobs") if name.startswith("sha256-new")]


def no_clones(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(fcntl, "ioctl", refuse)


def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    no_clones(monkeypatch)
    monkeypatch.setattr(os, "link", refuse)


def test_a_file_is_linked_and_hashed_once(
    store: Store, weights: Path, hashing: Hashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_clones(monkeypatch)
    layer = store.link_file(weights)
    size = weights.stat().st_size
    blob = blob_of(store, weights)
    assert (layer.digest, layer.size, layer.kind) == (digest_of(weights.read_bytes()), size, "model")
    assert hashing.count == size
    assert blob.stat().st_ino == weights.stat().st_ino
    assert temporary_files(store) == []


def test_progress_ends_at_the_size(store: Store, weights: Path) -> None:
    seen: list[tuple[int, int]] = []
    store.link_file(weights, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (weights.stat().st_size,) * 2


def test_a_second_time_nothing_is_hashed(store: Store, weights: Path, hashing: Hashing) -> None:
    store.link_file(weights)
    before = hashing.count
    seen: list[tuple[int, int]] = []
    again = store.link_file(weights, lambda done, total: seen.append((done, total)))
    assert again.digest == digest_of(weights.read_bytes())
    assert hashing.count == before
    assert seen == [(weights.stat().st_size,) * 2]


def test_a_file_changed_a_moment_ago_is_hashed_again(store: Store, weights: Path, hashing: Hashing) -> None:
    """A further change within the same tick of the clock would leave no trace in the file's times."""
    weights.write_bytes(weights.read_bytes())
    store.link_file(weights)
    store.link_file(weights)
    assert hashing.count == 2 * weights.stat().st_size


def test_the_file_is_never_touched(store: Store, weights: Path) -> None:
    mode = weights.stat().st_mode
    digest = store.link_file(weights).digest
    store.link_file(weights)
    store.use_blob(digest, "m")
    store.write_blob([weights.read_bytes()])
    store.verify_linked(digest)
    assert weights.stat().st_mtime_ns == LONG_AGO_NS
    assert weights.stat().st_mode == mode


def test_a_change_of_the_file_is_noticed(
    store: Store, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_clones(monkeypatch)
    digest = store.link_file(weights).digest
    store.verify_linked(digest)
    with open(weights, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(StoreError, match=r"weights\.gguf was changed after it had become part of a model"):
        store.verify_linked(digest)
    with open(weights, "ab") as file:
        file.write(b"more")
    with pytest.raises(StoreError, match=r"weights\.gguf was changed"):
        store.verify_linked(digest)


def test_a_new_time_alone_is_no_change(
    store: Store, weights: Path, hashing: Hashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_clones(monkeypatch)
    digest = store.link_file(weights).digest
    os.utime(weights, ns=(LONG_AGO_NS, LONG_AGO_NS + 1))
    hashing.count = 0
    store.verify_linked(digest)
    assert hashing.count == weights.stat().st_size
    store.verify_linked(digest)
    assert hashing.count == weights.stat().st_size


def test_a_file_replaced_by_another_does_not_matter(
    store: Store, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_clones(monkeypatch)
    content = weights.read_bytes()
    digest = store.link_file(weights).digest
    weights.unlink()
    weights.write_bytes(b"other")
    store.verify_linked(digest)
    assert store.blob_path(digest).read_bytes() == content


def test_a_blob_of_our_own_needs_no_verifying(store: Store) -> None:
    digest = store.write_blob([b"text"])
    with open(store.blob_path(digest), "ab") as file:
        file.write(b"more")
    store.verify_linked(digest)


def test_a_clone_is_a_file_of_its_own(
    store: Store, weights: Path, hashing: Hashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stands for file systems that clone, such as XFS and Btrfs: the call fills the new file."""

    def clone(target: int, request: int, source: int) -> int:
        assert request == 0x40049409
        os.write(target, os.pread(source, 1 << 20, 0))
        return 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    digest = store.link_file(weights).digest
    assert store.link_file(weights).digest == digest
    assert hashing.count == weights.stat().st_size
    assert store.blob_path(digest).stat().st_ino != weights.stat().st_ino
    with open(weights, "ab") as file:
        file.write(b"more")
    store.verify_linked(digest)
    assert store.link_file(weights).digest != digest


def test_without_links_the_file_is_copied_and_hashed_once(
    store: Store, weights: Path, hashing: Hashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_links(monkeypatch)
    digest = store.link_file(weights).digest
    assert hashing.count == weights.stat().st_size
    assert store.blob_path(digest).stat().st_ino != weights.stat().st_ino
    assert store.blob_path(digest).read_bytes() == weights.read_bytes()
    with open(weights, "ab") as file:
        file.write(b"more")
    store.verify_linked(digest)


def test_content_that_the_store_has_is_not_copied(
    store: Store, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even for a moment: the disk may be full."""
    no_links(monkeypatch)
    store.write_blob([weights.read_bytes()])
    monkeypatch.setattr(linking_module, "copy_and_hash", lambda *_: pytest.fail("it was copied"))
    assert store.link_file(weights).digest == digest_of(weights.read_bytes())


def test_a_copy_that_does_not_fit_is_not_begun(
    store: Store, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_links(monkeypatch)
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StoreError, match="no space left on device"):
        store.link_file(weights)
    assert os.listdir(store.root / "blobs") == []


def test_a_file_that_changes_while_it_is_read_is_refused(store: Store, weights: Path) -> None:
    def change(done: int, total: int) -> None:
        with open(weights, "ab") as file:
            file.write(b"more")

    with pytest.raises(StoreError, match="changed while it was read"):
        store.link_file(weights, change)
    assert temporary_files(store) == []
    assert store.prune().removed == ()


def test_a_damaged_gguf_is_refused_before_it_is_read(store: Store, weights: Path, hashing: Hashing) -> None:
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(BadGGUF, match=r"weights\.gguf: .*truncated"):
        store.link_file(weights)
    assert hashing.count == 0
    assert not (store.root / "blobs").exists()


@pytest.mark.parametrize("name", ["absent", "folder", "pipe"])
def test_what_is_no_file_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match=r"cannot read|not a regular file"):
        store.link_file(tmp_path / name)


def test_a_symbolic_link_means_the_file_behind_it(store: Store, weights: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(weights)
    digest = store.link_file(tmp_path / "alias").digest
    assert not store.blob_path(digest).is_symlink()
    assert store.blob_path(digest).read_bytes() == weights.read_bytes()


def test_two_files_with_the_same_content_are_one_blob(
    store: Store, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_clones(monkeypatch)
    digest = store.link_file(weights).digest
    twin = tmp_path / "twin.gguf"
    twin.write_bytes(weights.read_bytes())
    assert store.link_file(twin).digest == digest
    # The blob is still the first file: a change of it must be noticed, one of the second is none
    with open(twin, "ab") as file:
        file.write(b"more")
    store.verify_linked(digest)
    with open(weights, "ab") as file:
        file.write(b"more")
    with pytest.raises(StoreError, match=r"weights\.gguf was changed"):
        store.verify_linked(digest)


def test_a_blob_of_the_store_itself_is_taken_as_it_is(store: Store, weights: Path, hashing: Hashing) -> None:
    digest = store.link_file(weights).digest
    hashing.count = 0
    assert store.link_file(store.blob_path(digest)).digest == digest
    assert hashing.count == 0


def test_records_lie_outside_of_the_folders_of_ollama(store: Store, weights: Path) -> None:
    digest = store.link_file(weights).digest
    layout = Layout(store.root)
    assert sorted(os.listdir(store.root)) == ["blobs", "shim"]
    assert os.listdir(layout.blobs) == [digest.replace(":", "-")]
    record = Records(layout).get(digest)
    assert record is not None
    assert (record.path, record.mtime_ns) == (str(weights), LONG_AGO_NS)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"digest":1}', b"\xff", b"{}"])
def test_a_damaged_record_counts_as_none(store: Store, weights: Path, content: bytes) -> None:
    digest = store.link_file(weights).digest
    Layout(store.root).record(digest).write_bytes(content)
    assert Records(Layout(store.root)).get(digest) is None
    store.link_file(weights)
    assert Records(Layout(store.root)).get(digest) is not None
