"""What a walk sees, and what it leaves aside."""

import os
from pathlib import Path

import pytest

from mirrors.imports.walking import is_unfinished, walk


def test_links_stay_inside_and_loops_end(tmp_path: Path) -> None:
    root = tmp_path / "根"
    (root / "a").mkdir(parents=True)
    (root / "a" / "x").write_bytes(b"x")
    (tmp_path / "out").write_bytes(b"x")
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(tmp_path / "out")
    (root / "none").symlink_to(root / "nothing")
    (root / "y").symlink_to(root / "a" / "x")
    os.mkfifo(root / "pipe")
    files, skipped = walk(root)
    assert [file.path.name for file in files] == ["x", "y"]
    assert {Path(item.what).name: item.reason for item in skipped} == {
        "none": "a link to nothing",
        "out": "a link that leads out of the folder",
    }


def test_deep_folders_are_told(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*"abcdefgh")
    folder.mkdir(parents=True)
    (folder / "x").write_bytes(b"x")
    files, skipped = walk(tmp_path)
    assert files == []
    assert "folders deep" in skipped[0].reason


def test_a_file_with_a_control_file_beside_it_is_unfinished(tmp_path: Path) -> None:
    for name in ("x.gguf", "x.gguf.aria2", "y.gguf"):
        (tmp_path / name).write_bytes(b"x")
    files, skipped = walk(tmp_path)
    assert [file.path.name for file in files] == ["y.gguf"]
    assert len(skipped) == 1


@pytest.mark.parametrize("name", ["a.incomplete", "a.gguf.part", "sha256-0-partial-3", "a.gguf_0_9", "a.tmp"])
def test_pieces_of_downloads(name: str) -> None:
    assert is_unfinished(name)
    assert not is_unfinished("a.gguf")
