"""Files in the making: whole or not at all, and told from abandoned ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from modelfiles.errors import StoreError
from modelfiles.store.durable import NewFile, as_store_error, make_folder, remove_abandoned


def test_a_committed_file_has_its_content_and_mode(tmp_path: Path) -> None:
    with NewFile(tmp_path / "a" / "b", "new-") as file:
        file.write(b"abc")
        file.write(memoryview(b"def"))
        file.commit(tmp_path / "a" / "b" / "target")
    assert (tmp_path / "a" / "b" / "target").read_bytes() == b"abcdef"
    assert (tmp_path / "a" / "b" / "target").stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path / "a" / "b") == ["target"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with NewFile(tmp_path, "new-") as file:
            file.write(b"abc")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_making_is_not_abandoned(tmp_path: Path) -> None:
    with NewFile(tmp_path, "new-") as file:
        assert remove_abandoned(tmp_path, "new-") == []
        assert file.path.exists()


def test_the_file_of_a_dead_process_is_abandoned(tmp_path: Path) -> None:
    code = (
        "import os, sys, signal; from pathlib import Path; from modelfiles.store.durable import NewFile\n"
        "NewFile(Path(sys.argv[1]), 'new-').write(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "new-link").symlink_to(tmp_path / "other")
    assert len(remove_abandoned(tmp_path, "new-")) == 1
    assert sorted(os.listdir(tmp_path)) == ["new-link", "other"]


def test_clearing_up_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert remove_abandoned(tmp_path / "absent", "new-") == []


def test_folders_are_made_once(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_what_the_system_refuses_is_said_in_words() -> None:
    with (
        pytest.raises(StoreError, match=r"cannot write to x: no space left on device"),
        as_store_error("cannot write to x"),
    ):
        raise OSError(28, "No space left on device")
