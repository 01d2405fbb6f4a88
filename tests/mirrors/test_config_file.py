"""Where settings about mirrors are kept, and in which order they count."""

import json
import os
from pathlib import Path

import pytest

from mirrors.config_file import MirrorSettings, Places, add_mirror, remove_mirror
from mirrors.errors import BadSetting

A, B, C = "https://a.example", "https://b.example", "https://c.example"
REGISTRY = "registry.ollama.ai"


def urls(settings: MirrorSettings, site: str = REGISTRY) -> list[str]:
    return [mirror.url for mirror in settings.current().of(site)]


def places(folder: Path, *variables: tuple[str, str]) -> Places:
    return Places(variables, folder / "mirrors.json", folder / "config.json")


def theirs(folder: Path, value: object) -> None:
    (folder / "config.json").write_text(json.dumps({"integrations": {}, "OLLAMA_REGISTRIES": value}))


def test_the_first_that_says_anything_wins(tmp_path: Path) -> None:
    theirs(tmp_path, [C])
    assert urls(MirrorSettings(places(tmp_path))) == [C]
    add_mirror(tmp_path / "mirrors.json", B)
    assert urls(MirrorSettings(places(tmp_path))) == [B]
    assert urls(MirrorSettings(places(tmp_path, ("X", ""), ("Y", A)))) == [A]


def test_changes_are_noticed(tmp_path: Path) -> None:
    settings = MirrorSettings(places(tmp_path))
    assert urls(settings) == []
    add_mirror(tmp_path / "mirrors.json", A)
    assert urls(settings) == [A]
    add_mirror(tmp_path / "mirrors.json", B)
    assert urls(settings) == [A, B]


def test_a_key_that_ollamas_launcher_dropped_is_missed(tmp_path: Path) -> None:
    theirs(tmp_path, [A])
    settings = MirrorSettings(places(tmp_path))
    assert urls(settings) == [A]
    (tmp_path / "config.json").write_text('{"integrations": {}}')
    assert urls(settings) == []
    assert "OLLAMA_REGISTRIES has gone" in settings.current().problems[0]


def test_ollamas_file_without_the_key_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"integrations": {}}')
    assert MirrorSettings(places(tmp_path)).current().problems == ()


@pytest.mark.parametrize("data", [b"\xff\xfe", b"{", b" " * (1 << 21)])
def test_a_broken_file_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "mirrors.json").write_bytes(data)
    config = MirrorSettings(places(tmp_path)).current()
    assert config.mirrors == {}
    assert str(tmp_path / "mirrors.json") in config.problems[0]


def test_our_broken_file_does_not_hide_ollamas(tmp_path: Path) -> None:
    (tmp_path / "mirrors.json").write_text("{")
    theirs(tmp_path, [A])
    settings = MirrorSettings(places(tmp_path))
    assert urls(settings) == [A]
    assert len(settings.current().problems) == 1


def test_added_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "mirrors.json"
    add_mirror(path, f"{A}/v2/")
    add_mirror(path, B, "hf.co", insecure=True)
    add_mirror(path, A)
    assert json.loads(path.read_text()) == {REGISTRY: [A], "huggingface.co": [{"url": B, "insecure": True}]}
    assert remove_mirror(path, B) == ["huggingface.co"]
    assert json.loads(path.read_text()) == {REGISTRY: [A]}
    assert os.listdir(path.parent) == ["mirrors.json"]
    with pytest.raises(BadSetting, match="is not in"):
        remove_mirror(path, B)


def test_other_shapes_are_kept_when_added_to(tmp_path: Path) -> None:
    path = tmp_path / "mirrors.json"
    path.write_text(f'\ufeff[{{"url": "{A}", "priority": 1}}]')
    add_mirror(path, B)
    assert json.loads(path.read_text()) == {REGISTRY: [{"url": A, "priority": 1}, B]}


def test_what_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "mirrors.json"
    path.write_text('["https://a.example",]')
    with pytest.raises(BadSetting, match="mend"):
        add_mirror(path, B)
    assert path.read_text() == '["https://a.example",]'


@pytest.mark.parametrize("url", ["", "a.example", "https://me:pass@a.example"])
def test_bad_addresses_are_not_added(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadSetting):
        add_mirror(tmp_path / "mirrors.json", url)
    assert not (tmp_path / "mirrors.json").exists()
