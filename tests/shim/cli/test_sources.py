"""Which files a Modelfile means."""

from pathlib import Path

import pytest

from modelfiles.parser import parse
from shim.cli.errors import CommandError
from shim.cli.sources import NO_WEIGHTS, Sources, find_sources, resolve


def write(path: Path, data: bytes = b"GGUF....") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def found(text: str, folder: Path) -> Sources:
    return find_sources(parse(text).create_fields(), folder)


def test_a_file_is_named_by_its_last_part(tmp_path: Path) -> None:
    file = write(tmp_path / "weights" / "专家 v2.gguf")
    for text in ("./weights/专家 v2.gguf", "weights/专家 v2.gguf", str(file)):
        sources = found(f"FROM {text}\n", tmp_path)
        assert sources == Sources(None, {"专家 v2.gguf": file}, {}, {})
        assert sources.all_files() == [file]


def test_home_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert resolve("~/m.gguf", tmp_path) == tmp_path / "me" / "m.gguf"
    assert resolve("m.gguf", tmp_path) == tmp_path / "m.gguf"
    assert resolve("/m.gguf", tmp_path) == Path("/m.gguf")


def test_what_is_no_file_is_the_name_of_a_model(tmp_path: Path) -> None:
    for name in ("qwen:30b", "hf.example/birds/Plover-GGUF:IQ4_XS", "m.gguf"):
        assert found(f"FROM {name}\n", tmp_path) == Sources(name, {}, {}, {})


@pytest.mark.parametrize("text", ["./missing.gguf", "/no/such/m.gguf", "../m.gguf", "a b"])
def test_a_missing_file_that_can_be_no_name_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(CommandError, match=f"FROM {text}: no such file") as caught:
        found(f"FROM {text}\n", tmp_path)
    assert caught.value.hint


def test_several_files_are_named_below_their_common_folder(tmp_path: Path) -> None:
    model, projector = write(tmp_path / "a" / "m.gguf"), write(tmp_path / "b" / "c" / "p.gguf")
    sources = found("FROM a/m.gguf\nFROM b/c/p.gguf\nFROM a/m.gguf\n", tmp_path)
    assert sources.files == {"a/m.gguf": model, "b/c/p.gguf": projector}


def test_a_folder_means_its_gguf_files(tmp_path: Path) -> None:
    second, first = write(tmp_path / "b.gguf"), write(tmp_path / "a.gguf")
    write(tmp_path / "other.txt")
    write(tmp_path / "deeper" / "c.gguf")
    assert found("FROM .\n", tmp_path).files == {"a.gguf": first, "b.gguf": second}


def test_gguf_files_called_bin(tmp_path: Path) -> None:
    file = write(tmp_path / "m.bin")
    write(tmp_path / "n.bin", b"PK\x03\x04")
    assert found("FROM .\n", tmp_path).files == {"m.bin": file}


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=NO_WEIGHTS):
        found("FROM .\n", tmp_path)


def test_safetensors_are_refused_with_the_way_out(tmp_path: Path) -> None:
    write(tmp_path / "model-00001-of-00002.safetensors", b"x")
    with pytest.raises(CommandError, match="safetensors") as caught:
        found("FROM .\n", tmp_path)
    assert "GGUF" in caught.value.hint


def test_links_inside_a_folder_may_not_leave_it(tmp_path: Path) -> None:
    outside, folder = write(tmp_path / "outside.gguf"), tmp_path / "folder"
    folder.mkdir()
    (folder / "m.gguf").symlink_to(outside)
    with pytest.raises(CommandError, match="insecure path"):
        found("FROM folder\n", tmp_path)
    assert found("FROM folder/m.gguf\n", tmp_path).files == {"outside.gguf": outside}


def test_a_pointer_of_git_lfs_is_no_model(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(CommandError, match="Git LFS pointer") as caught:
        found("FROM m.gguf\n", tmp_path)
    assert "git lfs pull" in caught.value.hint


def test_adapters_and_drafts(tmp_path: Path) -> None:
    for name in ("m", "one", "two", "d"):
        write(tmp_path / f"{name}.gguf")
    sources = found("FROM m.gguf\nADAPTER one.gguf\nADAPTER ./two.gguf\nDRAFT d.gguf\n", tmp_path)
    assert sources.adapters == {"two.gguf": tmp_path / "two.gguf"}
    assert sources.drafts == {"d.gguf": tmp_path / "d.gguf"}
    with pytest.raises(CommandError, match=r"ADAPTER none\.gguf: no such file"):
        found("FROM m.gguf\nADAPTER none.gguf\n", tmp_path)
    with pytest.raises(CommandError, match="DRAFT must not reference the same local path as FROM"):
        found("FROM m.gguf\nDRAFT ./m.gguf\n", tmp_path)
