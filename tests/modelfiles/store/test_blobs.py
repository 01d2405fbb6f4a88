"""Blobs: named after their hash, whole or absent."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import BlobNotFound, DigestMismatch, InvalidDigest, StoreError
from modelfiles.store.blobs import Blobs, hash_file
from modelfiles.store.durable import NewFile
from modelfiles.store.paths import Layout
from tests.modelfiles.store.limits import run_with_file_limit

SAY_HI = "sha256:f29e82a8284dbdf5910b1555580ff60b04238b8da9d5e51159ada67a4d0d5851"
LONG_AGO_NS = 1_000_000_000_000_000_000


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.fixture
def blobs(layout: Layout) -> Blobs:
    return Blobs(layout)


def test_content_is_stored_under_its_hash(blobs: Blobs, layout: Layout) -> None:
    assert blobs.write([b"Say ", b"hi!"]) == SAY_HI
    assert blobs.has(SAY_HI)
    assert blobs.path(SAY_HI) == layout.root / "blobs" / SAY_HI.replace(":", "-")
    assert blobs.path(SAY_HI).read_bytes() == b"Say hi!"
    assert blobs.path(SAY_HI).stat().st_mode & 0o777 == 0o644
    assert [file.digest for file in blobs.files()] == [SAY_HI]


def test_dashes_and_capitals_mean_the_same_blob(blobs: Blobs) -> None:
    blobs.write([b"Say hi!"])
    assert blobs.has(SAY_HI.replace(":", "-"))
    assert blobs.has("sha256:" + SAY_HI[7:].upper())


@pytest.mark.parametrize(
    "digest", ["", "sha256:", "sha256:" + "0" * 63, "sha256:../" + "0" * 61, "md5:" + "0" * 64]
)
def test_what_is_no_digest_never_becomes_a_path(blobs: Blobs, digest: str) -> None:
    with pytest.raises(InvalidDigest):
        blobs.has(digest)


def test_another_hash_is_reported_and_the_content_stays(blobs: Blobs) -> None:
    expected = "sha256:" + "0" * 64
    with pytest.raises(DigestMismatch) as caught:
        blobs.write([b"Say hi!"], expected)
    assert (caught.value.expected, caught.value.actual) == (expected, SAY_HI)
    assert blobs.has(SAY_HI)


def test_the_comparison_is_of_texts(blobs: Blobs) -> None:
    with pytest.raises(DigestMismatch):
        blobs.write([b"Say hi!"], SAY_HI.replace(":", "-"))
    blobs.write([b"Say hi!"], SAY_HI)


def test_an_aborted_writer_leaves_nothing(blobs: Blobs) -> None:
    writer = blobs.writer()
    writer.write(b"half")
    writer.abort()
    writer.abort()
    assert blobs.files() == []


def test_content_that_is_there_stays_as_it_is_and_counts_as_used(blobs: Blobs) -> None:
    blobs.write([b"Say hi!"])
    os.utime(blobs.path(SAY_HI), ns=(LONG_AGO_NS, LONG_AGO_NS))
    inode = blobs.path(SAY_HI).stat().st_ino
    blobs.write([b"Say hi!"])
    assert blobs.path(SAY_HI).stat().st_ino == inode
    assert blobs.path(SAY_HI).stat().st_mtime_ns > LONG_AGO_NS
    assert len(blobs.files()) == 1


def test_a_file_with_another_name_is_never_touched(blobs: Blobs, tmp_path: Path) -> None:
    blobs.write([b"Say hi!"])
    os.utime(blobs.path(SAY_HI), ns=(LONG_AGO_NS, LONG_AGO_NS))
    os.link(blobs.path(SAY_HI), tmp_path / "the user's")
    blobs.write([b"Say hi!"])
    assert blobs.path(SAY_HI).stat().st_mtime_ns == LONG_AGO_NS


def test_a_link_to_nowhere_is_no_blob_and_is_replaced(blobs: Blobs, layout: Layout, tmp_path: Path) -> None:
    layout.blobs.mkdir()
    outside = tmp_path / "outside"
    layout.blob(SAY_HI).symlink_to(outside)
    assert not blobs.has(SAY_HI)
    blobs.write([b"Say hi!"])
    assert not outside.exists()
    assert not layout.blob(SAY_HI).is_symlink()


def test_what_is_not_there(blobs: Blobs) -> None:
    assert not blobs.has(SAY_HI)
    assert blobs.files() == []
    with pytest.raises(BlobNotFound, match=f'blob "{SAY_HI}" not found'):
        blobs.path(SAY_HI)
    blobs.remove(SAY_HI)


def test_large_blobs_are_not_taken_for_text(blobs: Blobs) -> None:
    digest = blobs.write([bytes(1 << 20)] * 17)
    with pytest.raises(StoreError, match="too large"):
        blobs.read_small(digest)


@given(sizes=st.lists(st.integers(0, 3 << 20), max_size=2))
def test_hashing_reads_each_byte_once(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    content = b"".join(bytes([index + 1]) * size for index, size in enumerate(sizes))
    path = tmp_path_factory.mktemp("hash") / "file"
    path.write_bytes(content)
    seen: list[tuple[int, int]] = []
    with open(path, "rb") as file:
        digest = hash_file(file.fileno(), lambda done, total: seen.append((done, total)))
    assert digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1:] == [(len(content), len(content))] * bool(content)


def test_a_file_taken_away_before_its_lock_is_made_again(tmp_path: Path) -> None:
    """Others who clear up may win the moment between a file's birth and its lock."""
    with NewFile(tmp_path, "a-") as first, NewFile(tmp_path, "a-") as second:
        assert first.path != second.path


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: writing fails in the middle."""
    code = f"""
from pathlib import Path
from modelfiles.store.blobs import Blobs
from modelfiles.store.paths import Layout
Blobs(Layout(Path({str(tmp_path)!r}))).write([bytes(60000)] * 3)
"""
    result = run_with_file_limit(code, 100_000)
    assert "StoreError: cannot write to" in result
    assert os.listdir(tmp_path / "blobs") == []
