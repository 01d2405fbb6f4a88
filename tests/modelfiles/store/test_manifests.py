"""Manifests: names that are found in any spelling, and links that lead out."""

import os
from pathlib import Path

import pytest

from modelfiles.errors import ModelNotFound, StoreError
from modelfiles.names import parse_name
from modelfiles.store.manifests import Manifests
from modelfiles.store.paths import Layout


@pytest.fixture
def manifests(tmp_path: Path) -> Manifests:
    return Manifests(Layout(tmp_path / "store"))


def folder(tmp_path: Path) -> Path:
    return tmp_path / "store" / "manifests"


def test_what_is_written_is_read(manifests: Manifests, tmp_path: Path) -> None:
    name = parse_name("hub.example.org/otter/moe:q4")
    manifests.write(name, b"{}\n")
    assert manifests.read(name).data == b"{}\n"
    path = folder(tmp_path) / "hub.example.org" / "otter" / "moe" / "q4"
    assert manifests.read(name).modified_ns == path.stat().st_mtime_ns
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(path.parent) == ["q4"]
    assert os.listdir(folder(tmp_path)) == ["hub.example.org"]


def test_names_are_sorted_and_strangers_left_out(manifests: Manifests, tmp_path: Path) -> None:
    for text in ("b", "a:2", "a:1", "x/y"):
        manifests.write(parse_name(text), b"{}")
    base = folder(tmp_path)
    (base / "loose file").write_bytes(b"")
    (base / "registry.ollama.ai" / "library" / "a" / ".hidden").write_bytes(b"")
    (base / "registry.ollama.ai" / "library" / "a" / "1x" / "deeper").mkdir(parents=True)
    assert [name.display for name in manifests.names()] == ["a:1", "a:2", "b:latest", "x/y:latest"]


def test_a_store_that_does_not_exist_is_empty(manifests: Manifests, tmp_path: Path) -> None:
    assert manifests.names() == []
    with pytest.raises(ModelNotFound):
        manifests.read(parse_name("a"))
    with pytest.raises(ModelNotFound):
        manifests.remove(parse_name("a"))
    manifests.remove_empty_folders()
    assert not (tmp_path / "store").exists()


def test_each_part_takes_the_spelling_that_any_manifest_has(manifests: Manifests) -> None:
    manifests.write(parse_name("Foo:Q4"), b"{}")
    manifests.write(parse_name("Otter/bar"), b"{}")
    assert manifests.resolve(parse_name("fOO:q4")).display == "Foo:Q4"
    assert manifests.resolve(parse_name("otter/FOO:Q8")).display == "Otter/Foo:Q8"
    assert manifests.find(parse_name("fOO:q4")) == parse_name("Foo:Q4")
    assert manifests.find(parse_name("otter/foo")) is None


def test_removing_takes_empty_folders_along(manifests: Manifests, tmp_path: Path) -> None:
    manifests.write(parse_name("a:1"), b"{}")
    manifests.write(parse_name("x/b"), b"{}")
    manifests.remove(parse_name("x/b"))
    assert os.listdir(folder(tmp_path) / "registry.ollama.ai") == ["library"]
    manifests.remove(parse_name("a:1"))
    assert os.listdir(folder(tmp_path)) == []


def test_a_link_out_of_the_folder_is_no_part_of_the_store(manifests: Manifests, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "m").mkdir(parents=True)
    (outside / "m" / "latest").write_bytes(b"{}")
    host = folder(tmp_path) / "registry.ollama.ai"
    host.mkdir(parents=True)
    (host / "library").symlink_to(outside)
    name = parse_name("m")
    assert manifests.names() == []
    for attempt in (manifests.read, manifests.remove, manifests.find):
        with pytest.raises(StoreError, match="leads out"):
            attempt(name)
    with pytest.raises(StoreError, match="leads out"):
        manifests.write(name, b"{}")
    assert (outside / "m" / "latest").read_bytes() == b"{}"


def test_the_folder_itself_may_be_a_link(manifests: Manifests, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "store").mkdir()
    folder(tmp_path).symlink_to(tmp_path / "disk")
    manifests.write(parse_name("m"), b"{}")
    assert (tmp_path / "disk" / "registry.ollama.ai" / "library" / "m" / "latest").read_bytes() == b"{}"
    assert [name.display for name in manifests.names()] == ["m:latest"]


def test_a_manifest_that_is_a_link_out_is_replaced_not_followed(manifests: Manifests, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    path = folder(tmp_path) / parse_name("m").path
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert manifests.names() == []
    manifests.write(parse_name("m"), b"{}")
    assert outside.read_bytes() == b"precious"
    assert not path.is_symlink()


def test_what_is_too_large_is_no_manifest(manifests: Manifests, tmp_path: Path) -> None:
    path = folder(tmp_path) / parse_name("m").path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    os.truncate(path, 1 << 30)
    with pytest.raises(StoreError, match="too large"):
        manifests.read(parse_name("m"))
