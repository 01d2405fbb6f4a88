"""Headers are read once, and again when the file has changed."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from modelfiles.errors import BadGGUF
from shim.headers import Headers
from tests.modelfiles.gguf.building import DENSE, gguf


def write(path: Path, architecture: str) -> None:
    """A GGUF with one key and no tensors."""
    key, value = b"general.architecture", architecture.encode()
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    data += struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(value)) + value
    path.write_bytes(data + bytes(-len(data) % 32))


def test_the_same_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "a", "llama")
    headers = Headers()
    first = headers.read(tmp_path / "a")
    assert first.architecture == "llama"
    assert headers.read(tmp_path / "a") is first


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, "llama")
    headers = Headers()
    headers.read(path)
    write(path, "qwen3")
    os.utime(path, ns=(1, 1))
    assert headers.read(path).architecture == "qwen3"


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    headers = Headers(capacity=2)
    for name in "abc":
        write(tmp_path / name, name)
    first = headers.read(tmp_path / "a")
    headers.read(tmp_path / "b")
    assert headers.read(tmp_path / "a") is first
    headers.read(tmp_path / "c")
    assert headers.read(tmp_path / "a") is first
    headers.read(tmp_path / "b")
    headers.read(tmp_path / "c")
    assert headers.read(tmp_path / "a") is not first


def test_faults_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    headers = Headers()
    with pytest.raises(FileNotFoundError):
        headers.read(path)
    path.write_bytes(b"no model")
    with pytest.raises(BadGGUF):
        headers.read(path)
    write(path, "llama")
    assert headers.read(path).architecture == "llama"


def test_parts_are_one_header_and_read_again_when_one_has_changed(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(gguf(DENSE if name == "a" else {}, [(name, (32,), 0, 0, 128)]))
    headers, paths = Headers(), (tmp_path / "a", tmp_path / "b")
    whole = headers.read(*paths)
    assert [tensor.name for tensor in whole.tensors] == ["a", "b"]
    assert headers.read(*paths) is whole
    assert [tensor.name for tensor in headers.read(paths[0]).tensors] == ["a"]
    os.utime(paths[1], ns=(1, 1))
    assert headers.read(*paths) is not whole
