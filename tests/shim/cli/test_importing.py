"""`shim import` and `shim export`, from folders of every layout to a store and on to another machine."""

import hashlib
import tarfile
from pathlib import Path

import pytest

from modelfiles.names import parse_name
from modelfiles.store import Store, linking
from tests.modelfiles.gguf.building import DENSE, I32, STRING, U16, Tensor, gguf
from tests.shim.cli.scripted import Shim

OTHER = gguf({**DENSE, "general.name": (STRING, "另一个")})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("SHIM_MODELS", raising=False)
    return Store(tmp_path / "models")


def put(path: Path, data: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data or gguf())
    return path


def names(store: Store) -> list[str]:
    return [name.display for name in store.names()]


def parts(folder: Path, count: int = 3) -> list[Path]:
    found = []
    for index in range(count):
        keys = {"split.no": (U16, index), "split.count": (U16, count), "split.tensors.count": (I32, count)}
        tensors: list[Tensor] = [(f"t{index}", (32,), 0, 0, 128)]
        data = gguf({**(DENSE if index == 0 else {}), **keys}, tensors)
        found.append(put(folder / f"x-q8_0-{index + 1:05}-of-{count:05}.gguf", data))
    return found


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_file_is_shared_and_stays(tmp_path: Path, store: Store, shim: Shim) -> None:
    file = put(tmp_path / "下载" / "Qwen3-8B-Q4_K_M.gguf")
    before = snapshot(file.parent)
    result = shim("import", str(file))
    assert (result.code, names(store)) == (0, ["qwen3-8b:Q4_K_M"]), result
    path = store.load(parse_name("qwen3-8b:q4_k_m")).model_path
    assert path is not None
    assert path.read_bytes() == file.read_bytes()
    assert snapshot(file.parent) == before
    again = shim("import", str(file))
    assert again.code == 0
    assert "already there" in again.out
    assert len(names(store)) == 1


def test_a_dry_run_stores_nothing(tmp_path: Path, store: Store, shim: Shim) -> None:
    file = put(tmp_path / "a-q8_0.gguf")
    result = shim("import", "--dry-run", str(file))
    assert result.code == 0
    assert "a:q8_0" in result.out
    assert not store.root.exists()


def test_a_name_of_no_usable_sign_comes_from_the_header(tmp_path: Path, store: Store, shim: Shim) -> None:
    assert shim("import", str(put(tmp_path / "通义千问.gguf"))).code == 0
    assert names(store) == ["a-small-model:Q4_K_M"]


def test_parts_become_one_model_by_any_of_them(tmp_path: Path, store: Store, shim: Shim) -> None:
    found = parts(tmp_path / "分片")
    assert shim("import", str(found[1])).code == 0
    assert names(store) == ["x:q8_0"]
    assert len([layer for layer in store.manifest(store.names()[0]).layers if layer.kind == "model"]) == 3


def test_a_missing_part_is_named(tmp_path: Path, store: Store, shim: Shim) -> None:
    parts(tmp_path / "a")[2].unlink()
    result = shim("import", str(tmp_path / "a"))
    assert result.code == 1
    assert "x-q8_0-00003-of-00003.gguf" in result.out
    assert names(store) == []


def test_a_folder_with_texts_sums_and_rubbish(tmp_path: Path, store: Store, shim: Shim) -> None:
    folder = tmp_path / "模型"
    put(folder / "one-q8_0.gguf")
    put(folder / "system", "简短回答".encode())
    put(folder / "._one-q8_0.gguf", b"x")
    put(folder / "two.gguf.part", b"x")
    put(folder / "three-q8_0.gguf", gguf()[:-40])
    put(folder / "sub" / "four-q4_0.gguf", OTHER)
    put(folder / "sub" / "SHA256SUMS", f"{'0' * 64} *four-q4_0.gguf\n".encode())
    (folder / "out-q8_0.gguf").symlink_to(put(tmp_path / "elsewhere.gguf"))
    result = shim("import", str(folder))
    assert result.code == 1
    assert names(store) == ["one:q8_0"]
    assert store.load(parse_name("one:q8_0")).system == "简短回答"
    assert "is damaged: it should be sha256:000" in result.out
    assert "a link that leads out" in result.out
    assert "unfinished" in result.out


def test_names_that_are_taken_get_a_number(tmp_path: Path, store: Store, shim: Shim) -> None:
    put(tmp_path / "a" / "m-q8_0.gguf")
    put(tmp_path / "b" / "m-q8_0.gguf", OTHER)
    assert shim("import", str(tmp_path / "a")).code == 0
    assert shim("import", str(tmp_path / "b")).code == 0
    assert names(store) == ["m:q8_0", "m:q8_0-2"]
    assert shim("import", "--replace", str(tmp_path / "b")).code == 0
    path = store.load(parse_name("m:q8_0")).model_path
    assert path is not None
    assert path.read_bytes() == OTHER


def test_lm_studio(tmp_path: Path, store: Store, shim: Shim) -> None:
    put(tmp_path / "lm" / "models" / "pub" / "Repo-GGUF" / "repo-Q4_K_M.gguf")
    put(tmp_path / "lm" / "models" / "pub" / "mlx" / "model.safetensors", b"x")
    result = shim("import", str(tmp_path / "lm"))
    assert (result.code, names(store)) == (0, ["pub/Repo-GGUF:Q4_K_M"])
    assert "safetensors" in result.out


@pytest.mark.parametrize("right", [True, False])
def test_a_hugging_face_cache(tmp_path: Path, store: Store, shim: Shim, right: bool) -> None:
    repository = tmp_path / "hub" / "models--org--name-GGUF"
    digest = hashlib.sha256(gguf() if right else b"").hexdigest()
    put(repository / "blobs" / digest)
    put(repository / "refs" / "main", b"abc")
    for commit in ("abc", "old"):
        (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "snapshots" / "abc" / "n-Q8_0.gguf").symlink_to(f"../../blobs/{digest}")
    (repository / "snapshots" / "old" / "o-Q8_0.gguf").symlink_to(f"../../blobs/{digest}")
    result = shim("import", str(tmp_path / "hub"))
    assert (result.code, names(store)) == ((0, ["org/name-GGUF:Q8_0"]) if right else (1, []))


def test_modelscope_caches(tmp_path: Path, store: Store, shim: Shim) -> None:
    put(tmp_path / "ms" / "models" / "own--n.1" / "snapshots" / "master" / "n-Q8_0.gguf")
    old = tmp_path / "ms" / "hub" / "models" / "own" / "m-2___5"
    put(old / "m-Q8_0.gguf", OTHER)
    put(old / ".msc", b"\x80\x04cos\nsystem\n")
    assert shim("import", str(tmp_path / "ms")).code == 0
    assert names(store) == ["own/m-2.5:Q8_0", "own/n.1:Q8_0"]


def other_store(tmp_path: Path, shim: Shim, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store elsewhere with the models one and two."""
    with monkeypatch.context() as context:
        context.setenv("OLLAMA_MODELS", str(tmp_path / "other"))
        for name, data in (("one", gguf()), ("two", OTHER)):
            assert shim("import", "--name", name, str(put(tmp_path / "in" / name / "x.gguf", data))).code == 0
    return Store(tmp_path / "other")


def test_a_copied_store_with_odd_names(
    tmp_path: Path, store: Store, shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = other_store(tmp_path, shim, monkeypatch)
    manifests = {name.display: source.manifest_bytes(name) for name in source.names()}
    two = source.load(parse_name("two")).model_path
    assert two is not None
    two.unlink()
    for path in (source.root / "blobs").iterdir():
        path.rename(path.with_name(path.name.replace("-", ":")))
    put(source.root / "manifests" / "stray", b"x")
    put(source.root / "manifests" / "registry.ollama.ai" / "library" / "one" / "._latest", b"x")
    put(source.root / "blobs" / f"sha256-{'0' * 64}-partial-3", b"x")
    before = snapshot(source.root)
    with monkeypatch.context() as context:
        context.setattr(linking, "copy_and_hash", None)  # on one disk, no byte is copied
        result = shim("import", str(source.root))
    assert (result.code, names(store)) == (0, ["one:latest"])
    assert store.manifest_bytes(store.names()[0]) == manifests["one:latest"]
    assert "blobs are missing: sha256:" in result.out
    assert "not the path of a manifest" in result.out
    assert snapshot(source.root) == before
    assert "already there" in shim("import", str(source.root)).out


def test_a_damaged_blob_of_a_store_gives_no_model(
    tmp_path: Path, store: Store, shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = other_store(tmp_path, shim, monkeypatch)
    path = source.load(parse_name("one")).model_path
    assert path is not None
    path.write_bytes(bytes(byte ^ (index == 300) for index, byte in enumerate(path.read_bytes())))
    result = shim("import", str(source.root))
    assert (result.code, names(store)) == (1, ["two:latest"])
    assert "is damaged" in result.out or "failed" in result.out


def test_export_and_import(tmp_path: Path, store: Store, shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    source = other_store(tmp_path, shim, monkeypatch)
    with monkeypatch.context() as context:
        context.setenv("OLLAMA_MODELS", str(source.root))
        archive, again, delta = (tmp_path / name for name in ("一.tar", "again.tar", "delta.tar"))
        assert shim("export", "one", "-o", str(archive)).code == 0
        assert shim("export", "one", "-o", str(again)).code == 0
        assert shim("export", "one", "two", "-o", str(delta), "--since", str(archive)).code == 0
        assert shim("export", "one", "-o", str(archive)).code == 1
        assert shim("export", "three", "-o", str(tmp_path / "three.tar")).code == 1
    assert archive.read_bytes() == again.read_bytes()
    assert archive.stat().st_size % 10240 == 0
    with tarfile.open(archive) as tar:
        assert tar.getnames()[0] == "index.json"
        tar.extractall(tmp_path / "plain", filter="data")
    assert names(Store(tmp_path / "plain")) == ["one:latest"]
    early = shim("import", str(delta))
    assert early.code == 1
    assert "which are not here" in early.err
    assert "one:latest" in shim("import", "--dry-run", str(archive)).out
    assert names(store) == []
    assert shim("import", str(archive)).code == 0
    assert shim("import", "-", stdin=delta.read_bytes()).code == 0
    assert names(store) == ["one:latest", "two:latest"]
    for name in store.names():
        assert store.manifest_bytes(name) == source.manifest_bytes(name)
        store.load(name)


def test_a_cut_archive_is_refused_and_goes_on(
    tmp_path: Path, store: Store, shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = other_store(tmp_path, shim, monkeypatch)
    archive = tmp_path / "a.tar"
    with monkeypatch.context() as context:
        context.setenv("OLLAMA_MODELS", str(source.root))
        assert shim("export", "one", "two", "-o", str(archive)).code == 0
    whole = archive.read_bytes()
    for length in range(0, len(whole) - 10240, 700):
        result = shim("import", "-", stdin=whole[:length])
        assert result.code == 1
        assert "ends too early" in result.err
        assert names(store) == []
    assert shim("import", str(archive)).code == 0
    assert names(store) == ["one:latest", "two:latest"]


@pytest.mark.parametrize(("path", "error"), [("nothing", "no such file"), ("empty", "holds no model")])
def test_what_cannot_be_imported_is_said(
    tmp_path: Path, store: Store, shim: Shim, path: str, error: str
) -> None:
    (tmp_path / "empty").mkdir()
    result = shim("import", str(tmp_path / path))
    assert result.code == 1
    assert error in result.err
