"""The test models are built once, and again only when the code that makes them changes."""

from pathlib import Path

import pytest

from tests import models


def test_a_second_call_finds_the_first_ones_file(tiny_qwen3moe_gguf: Path) -> None:
    before = tiny_qwen3moe_gguf.stat().st_mtime_ns
    assert models.tiny_qwen3moe() == tiny_qwen3moe_gguf
    assert tiny_qwen3moe_gguf.stat().st_mtime_ns == before


def test_the_cache_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHIM_TEST_CACHE", str(tmp_path))
    assert models.cache_folder() == tmp_path
