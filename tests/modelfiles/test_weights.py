"""Split models: joined into one file, or refused with what is missing; nothing half-done stays."""

import hashlib
import os
import shutil
import struct
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BadGGUF, StoreError
from modelfiles.gguf import read_gguf
from modelfiles.names import parse_name
from modelfiles.store import Store
from tests.modelfiles.gguf.building import DENSE, I32, U16, Tensor, gguf

TENSORS: list[list[Tensor]] = [
    [("token_embd.weight", (32, 4), 0, 0, 512)],
    [("blk.0.a", (33,), 0, 0, 132), ("blk.0.b", (32,), 8, 160, 34)],
    [("output.weight", (32, 4), 1, 0, 256)],
]
COUNT = len(TENSORS)


def part(index: int) -> bytes:
    keys = {"split.no": (U16, index), "split.count": (U16, COUNT), "split.tensors.count": (I32, 4)}
    return gguf({**(DENSE if index == 0 else {}), **keys}, TENSORS[index])


def part_name(index: int) -> str:
    return f"x-{index + 1:05}-of-{COUNT:05}.gguf"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def make(store: Store, files: dict[str, bytes]) -> list[Progress]:
    items: list[Progress] = []
    digests = {name: store.write_blob([data]) for name, data in files.items()}
    create(store, CreateRequest(model="m", files=digests), items.append)
    return items


def test_parts_are_joined_in_any_order(store: Store) -> None:
    items = make(store, {part_name(index): part(index) for index in (2, 0, 1)})
    package = store.load(parse_name("m"))
    assert package.model_path is not None
    header = read_gguf(package.model_path)
    assert [tensor.name for tensor in header.tensors] == [
        "token_embd.weight",
        "blk.0.a",
        "blk.0.b",
        "output.weight",
    ]
    whole = package.model_path.read_bytes()
    for index in range(COUNT):
        source = part(index)
        begin = len(source) - max(offset + nbytes for *_, offset, nbytes in TENSORS[index])
        for name, _, _, offset, nbytes in TENSORS[index]:
            at = header.data_offset + next(item.offset for item in header.tensors if item.name == name)
            assert whole[at : at + nbytes] == source[begin + offset : begin + offset + nbytes]
    digest = "sha256:" + hashlib.sha256(whole).hexdigest()
    assert package.model_digest == digest
    assert [item.status for item in items] == [
        *["parsing GGUF"] * COUNT,
        "joining 3 parts",
        f"creating new layer {digest}",
        "writing manifest",
        "success",
    ]
    assert (items[COUNT].digest, items[COUNT].total, items[COUNT].completed) == (
        "0" * 19,
        len(whole),
        len(whole),
    )


def test_the_joined_file_is_about_as_large_as_the_parts(store: Store) -> None:
    make(store, {part_name(index): part(index) for index in range(COUNT)})
    parts = sum(len(part(index)) for index in range(COUNT))
    assert store.load(parse_name("m")).size < parts + 1000


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({part_name(0): 0}, "part 2 of 3 is missing; add x-00002-of-00003.gguf, x-00003-of-00003.gguf"),
        ({part_name(0): 0, part_name(2): 2}, "part 2 of 3 is missing; add x-00002-of-00003.gguf"),
        ({"a.gguf": 0, "b.gguf": 1, "c.gguf": 2}, "must be named NAME-00001-of-0000N.gguf"),
        ({part_name(0): 1, part_name(1): 0, part_name(2): 2}, "split.no"),
    ],
)
def test_parts_that_do_not_fit_are_refused(store: Store, files: dict[str, int], message: str) -> None:
    with pytest.raises(BadGGUF, match=message):
        make(store, {name: part(index) for name, index in files.items()})
    assert store.names() == []
    assert len(os.listdir(store.root / "blobs")) == len(files)


def test_a_full_disk_is_noticed_before_the_parts_are_joined(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StoreError, match="no space left on device"):
        make(store, {part_name(index): part(index) for index in range(COUNT)})
    assert len(os.listdir(store.root / "blobs")) == COUNT


def test_a_part_that_shrinks_meanwhile_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    digests = {}
    for index in range(COUNT):
        path = tmp_path / part_name(index)
        path.write_bytes(part(index))
        digests[path.name] = store.link_file(path).digest

    def shrink(item: Progress) -> None:
        if item.status == "parsing GGUF":
            os.truncate(store.blob_path(digests[part_name(2)]), 100)

    with pytest.raises((StoreError, BadGGUF)):
        create(store, CreateRequest(model="m", files=digests), shrink)
    assert store.names() == []
    assert len(os.listdir(store.root / "blobs")) == COUNT


def test_a_joined_file_that_no_engine_can_run_is_refused(store: Store) -> None:
    broken = part(0).replace(struct.pack("<I", 128), struct.pack("<I", 0), 1)
    with pytest.raises(BadGGUF, match="context_length"):
        make(store, {part_name(0): broken, part_name(1): part(1), part_name(2): part(2)})
    assert store.names() == []
    assert len(os.listdir(store.root / "blobs")) == COUNT
