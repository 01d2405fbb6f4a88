"""Split models: kept part by part, or refused with what is missing; nothing half-done stays."""

import os
import struct
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BadGGUF, StoreError
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


def test_parts_are_kept_as_they_are_in_any_order(store: Store) -> None:
    items = make(store, {part_name(index): part(index) for index in (2, 0, 1)})
    package = store.load(parse_name("m"))
    assert [path.read_bytes() for path in package.model_paths] == [part(index) for index in range(COUNT)]
    assert [layer.name for layer in package.layers] == [part_name(index) for index in range(COUNT)]
    assert package.model_digests == tuple(layer.digest for layer in package.layers)
    assert package.config.model_type == "321"
    assert [item.status for item in items] == [
        *["parsing GGUF"] * COUNT,
        *[f"using existing layer {layer.digest}" for layer in package.layers],
        "writing manifest",
        "success",
    ]
    assert len(os.listdir(store.root / "blobs")) == COUNT + 1


def test_a_model_of_parts_is_inherited_with_all_of_them(store: Store) -> None:
    make(store, {part_name(index): part(index) for index in range(COUNT)})
    create(store, CreateRequest(model="child", from_="m", system="new"), lambda item: None)
    child = store.load(parse_name("child"))
    assert child.model_digests == store.load(parse_name("m")).model_digests
    assert (child.parent_model, child.system, child.config.model_type) == ("m:latest", "new", "321")


def test_the_parts_that_show_names_make_the_model_again(store: Store) -> None:
    make(store, {part_name(index): part(index) for index in range(COUNT)})
    digests = store.load(parse_name("m")).model_digests
    files = {digest.replace(":", "-"): digest for digest in reversed(digests)}
    create(store, CreateRequest(model="again", files=files), lambda item: None)
    assert store.load(parse_name("again")).model_digests == digests


def test_parts_of_a_linked_file_take_no_room(store: Store, tmp_path: Path) -> None:
    files = {}
    for index in range(COUNT):
        path = tmp_path / part_name(index)
        path.write_bytes(part(index))
        files[path.name] = store.link_file(path).digest
    create(store, CreateRequest(model="m", files=files), lambda item: None)
    for index, path in enumerate(store.load(parse_name("m")).model_paths):
        if path.stat().st_nlink > 1:  # else the file system shares the blocks
            assert path.samefile(tmp_path / part_name(index))


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


def test_parts_of_a_model_that_no_engine_can_run_is_refused(store: Store) -> None:
    broken = part(0).replace(struct.pack("<I", 128), struct.pack("<I", 0), 1)
    with pytest.raises(BadGGUF, match="context_length"):
        make(store, {part_name(0): broken, part_name(1): part(1), part_name(2): part(2)})
    assert store.names() == []
    assert len(os.listdir(store.root / "blobs")) == COUNT
