"""What is kept of the lines typed in chats, and what a user may switch off."""

import json
import stat
from pathlib import Path

import pytest

from shim.cli.editor import completions
from shim.cli.history import History
from shim.cli.slash import COMMANDS


def loaded(file: Path, *, enabled: bool = True) -> list[str]:
    entries: list[str] = []
    History(file, entries.append, lambda: enabled).load()
    return entries


def test_lines_are_found_again_by_later_chats(tmp_path: Path) -> None:
    file = tmp_path / "state" / "history"
    first, second = (History(file, lambda _: None, lambda: True) for _ in range(2))
    first.add("天气怎么样？")
    second.add('two\nlines "quoted"')
    first.add("  ")
    first.add("last")
    assert loaded(file) == ["天气怎么样？", 'two\nlines "quoted"', "last"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_kept_or_read_where_it_is_switched_off(tmp_path: Path) -> None:
    file, on = tmp_path / "history", [False]
    entries: list[str] = []
    history = History(file, entries.append, lambda: on[0])
    history.add("secret")
    assert not file.exists()
    on[0] = True
    history.add("open")
    on[0] = False
    history.add("secret again")
    assert loaded(file) == entries == ["open"]
    assert loaded(file, enabled=False) == []


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_text("".join(f"{json.dumps(str(number))}\n" for number in range(2001)))
    assert loaded(file) == [str(number) for number in range(1001, 2001)]
    assert len(file.read_text().splitlines()) == 1000
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b'"ok"\n{broken\n[1]\n', b"[" * 5000])
def test_a_damaged_file_disturbs_nobody(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "history"
    file.write_bytes(content)
    assert loaded(file) in ([], ["ok"])


def test_a_folder_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    entries: list[str] = []
    History(tmp_path / "file" / "history", entries.append, lambda: True).add("kept for this chat")
    assert entries == ["kept for this chat"]


def test_completion_of_commands() -> None:
    assert completions("/set no", COMMANDS) == [
        "/set nothink", "/set noformat", "/set nowordwrap", "/set nohistory",
    ]  # fmt: skip
    assert completions("what is /set", COMMANDS) == []
    assert completions("", COMMANDS) == []
