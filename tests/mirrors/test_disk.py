"""An unfinished file after a crash: what is claimed is true, or found out; what was synced is kept."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrors import journal
from mirrors.disk import Files, Piece, WorkFile
from mirrors.errors import NoRoom
from mirrors.journal import Header, Run
from mirrors.parts import Spans
from tests.mirrors.faults import content

SIZE = 200_000
DATA = content(SIZE, seed=9)
HEADER = Header("k", "sha256:" + "0" * 64, SIZE)
PAGE = 4096


def put(work: WorkFile, start: int, end: int, steps: int = 3) -> None:
    """One run, written in so many pieces."""
    run = Run(start, "a")
    bounds = [start + (end - start) * step // steps for step in range(steps + 1)]
    for left, right in itertools.pairwise(bounds):
        work.write([Piece(run, left, DATA[left:right])])


def proved(folder: Path) -> Spans:
    """What a new process believes after reading everything again; all of it is checked against the truth."""
    work = WorkFile(folder, HEADER)
    for run in list(work.runs.values()):
        points = work.good_points(run)
        if points < len(run.points):
            work.forget(run, points)
    claimed = work.claimed
    for start, end in claimed:
        assert b"".join(work.read(start, end)) == DATA[start:end]
    work.close(orderly=True)
    return claimed


def test_what_was_written_is_known_again(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, HEADER)
    put(work, 0, 50_000)
    put(work, 100_000, 120_000)
    work.close(orderly=False)
    assert proved(tmp_path) == Spans([(0, 50_000), (100_000, 120_000)])
    again = WorkFile(tmp_path, HEADER)
    assert again.clean
    again.close(orderly=True)


def test_a_journal_cut_anywhere_is_no_fault(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, HEADER)
    put(work, 0, 50_000)
    put(work, 100_000, 120_000)
    work.close(orderly=True)
    text = (tmp_path / "k.journal").read_bytes()
    data = (tmp_path / "k.data").read_bytes()
    for cut in range(len(text) + 1):
        (tmp_path / "k.journal").write_bytes(text[:cut])
        (tmp_path / "k.data").write_bytes(data)
        assert proved(tmp_path).total <= 70_000
    assert proved(tmp_path).total == 70_000


def test_another_files_journal_counts_for_nothing(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, Header("k", HEADER.digest, SIZE, '"old"'))
    put(work, 0, 50_000)
    work.close(orderly=True)
    assert not proved(tmp_path)


def test_damage_costs_what_comes_after_it_in_its_run(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, HEADER)
    put(work, 0, 60_000, steps=6)
    put(work, 60_000, 90_000)
    work.close(orderly=False)
    with open(tmp_path / "k.data", "r+b") as file:
        file.seek(35_000)
        file.write(b"x")
    assert proved(tmp_path) == Spans([(0, 30_000), (60_000, 90_000)])


def test_a_long_journal_is_shortened(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, HEADER)
    put(work, 0, SIZE, steps=2000)
    work.compact()
    length = (tmp_path / "k.journal").stat().st_size
    work.close(orderly=False)
    assert length < 400
    assert proved(tmp_path).total == SIZE


class FullDisk(Files):
    """Allows so many bytes, then none."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write_at(self, descriptor: int, data: memoryview, offset: int) -> None:
        if self.room < len(data):
            raise OSError(28, "No space left on device")
        self.room -= len(data)
        super().write_at(descriptor, data, offset)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    work = WorkFile(tmp_path, HEADER, FullDisk(100_000))
    put(work, 0, 90_000)
    with pytest.raises(NoRoom, match="no space left"):
        put(work, 90_000, SIZE)
    work.close(orderly=False)
    assert proved(tmp_path) == Spans([(0, 90_000)])


class PowerCut(Files):
    """Keeps a log of what was done to which file, so that any moment can be brought back."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int, int, bytes]] = []

    def write_at(self, descriptor: int, data: memoryview, offset: int) -> None:
        self.log.append(("write", descriptor, offset, bytes(data)))
        super().write_at(descriptor, data, offset)

    def append(self, descriptor: int, data: bytes) -> None:
        self.log.append(("append", descriptor, 0, data))
        super().append(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self.log.append(("sync", descriptor, 0, b""))
        super().sync(descriptor)


def after_power_cut(
    log: list[tuple[str, int, int, bytes]], data_file: int, luck: random.Random
) -> tuple[bytes, bytes, Spans]:
    """What may be on the disk: all that was synced, some pages of the rest; and what was synced for sure."""
    data, text = bytearray(SIZE), b""
    loose: list[tuple[int, bytes]] = []
    loose_text, written, safe = b"", Spans(), Spans()
    for kind, descriptor, offset, content_ in log:
        if kind == "write":
            written.add(offset, offset + len(content_))
            loose += list(pages(offset, content_))
        elif kind == "append":
            loose_text += content_
        elif descriptor == data_file:
            for at, page in loose:
                data[at : at + len(page)] = page
            loose, safe = [], Spans(written)
        else:
            text, loose_text = text + loose_text, b""
    for at, page in loose:
        if luck.random() < 0.5:
            data[at : at + len(page)] = page
    return bytes(data), text + loose_text[: luck.randrange(len(loose_text) + 1)], safe


def pages(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        end = min(len(data), at + PAGE - (offset + at) % PAGE)
        yield offset + at, data[at:end]
        at = end


def test_power_fails_at_any_moment(tmp_path: Path) -> None:
    files, luck = PowerCut(), random.Random(4)
    work = WorkFile(tmp_path / "before", HEADER, files)
    for start in range(0, SIZE, 20_000):
        put(work, start, start + 20_000)
        if start % 60_000 == 40_000:
            work.sync()
    data_file = work.descriptor
    work.close(orderly=True)
    kept_something = 0
    for cut in range(len(files.log) + 1):
        data, text, safe = after_power_cut(files.log[:cut], data_file, luck)
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "k.data").write_bytes(data)
        (folder / "k.journal").write_bytes(text)
        account = journal.read(text, HEADER)
        believed = proved(folder)
        for start, end in safe if account is not None else []:
            told = account.claimed.within(start, end) if account is not None else Spans()
            for left, right in told:
                assert believed.contains(left, right)
        kept_something += bool(believed)
    assert kept_something > len(files.log) // 2
