"""The store as a whole: packages, names, copies, deletion, pruning, and others who work in it."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from modelfiles.errors import BlobNotFound, ModelNotFound, StoreError
from modelfiles.messages import Message
from modelfiles.names import parse_name
from modelfiles.package import LAYER_TYPE, Config, Layer, encode_manifest
from modelfiles.store import Store
from modelfiles.store.unused import HOUR_NS
from tests.modelfiles.gguf.building import gguf
from tests.modelfiles.store.packing import blob, manifest_of, pack, params

LONG_AGO_NS = 1_000_000_000_123_456_789
ABSENT = Layer("x", "sha256:" + "0" * 64, 1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def tree(store: Store) -> dict[str, bytes]:
    return {
        str(path.relative_to(store.root)): path.read_bytes()
        for path in store.root.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def make_old(store: Store) -> None:
    for path in (store.root / "blobs").iterdir():
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def test_a_package_has_everything_that_its_layers_say(store: Store) -> None:
    layers = (
        blob(store, "model", b"weights", from_="base:tag"),
        blob(store, "projector", b"eyes"),
        blob(store, "adapter", b"lora"),
        blob(store, "prompt", b"old template"),
        blob(store, "template", b"{{ .Prompt }}"),
        blob(store, "system", "Grüße".encode()),
        params(store, top_k=1, temperature=0.5),
        params(store, top_k=2),
        blob(store, "license", b"MIT"),
        blob(store, "license", b"Apache"),
        blob(store, "messages", b'[{"role":"user","content":"hi"},{"role":"assistant","content":""}]\n'),
        blob(store, "embed", b"obsolete"),
    )
    manifest = pack(store, "x/m:tag", *layers)
    package = store.load(parse_name("x/m:tag"))
    assert package.name.display == "x/m:tag"
    assert package.digest == hashlib.sha256(encode_manifest(manifest)).hexdigest()
    assert package.size == manifest.size
    path = store.root / "manifests" / "registry.ollama.ai" / "x" / "m" / "tag"
    assert package.modified_ns == path.stat().st_mtime_ns
    assert abs(package.modified.timestamp() - path.stat().st_mtime) < 1e-3
    assert package.model_path is not None
    assert package.model_path.read_bytes() == b"weights"
    assert package.model_digest == layers[0].digest
    assert [item.read_bytes() for item in (*package.projectors, *package.adapters)] == [b"eyes", b"lora"]
    assert (package.template, package.system, package.parent_model) == ("{{ .Prompt }}", "Grüße", "base:tag")
    assert dict(package.parameters) == {"top_k": 2, "temperature": 0.5}
    assert package.licenses == ("MIT", "Apache")
    assert package.messages == (Message("user", "hi"), Message("assistant", ""))
    assert package.config.model_family == "llama"


def test_a_remote_stub_has_no_weights(store: Store) -> None:
    pack(store, "m", config=Config(remote_host="https://example.org:443", remote_model="x"))
    package = store.load(parse_name("m"))
    assert package.model_path is None
    assert package.template is None


def test_names_are_found_in_any_spelling(store: Store) -> None:
    pack(store, "Foo:Q4", blob(store, "system", b"1"))
    assert store.load(parse_name("FOO:q4")).name.display == "Foo:Q4"
    pack(store, "foo:q4", blob(store, "system", b"2"))
    assert [name.display for name in store.names()] == ["Foo:Q4"]
    store.copy(parse_name("foo:Q4"), parse_name("fOo:new"))
    assert [name.display for name in store.names()] == ["Foo:Q4", "Foo:new"]
    store.delete(parse_name("FOO:Q4"))
    assert [name.display for name in store.names()] == ["Foo:new"]


def test_damaged_packages_are_left_out_and_named(store: Store) -> None:
    good = blob(store, "system", b"1")
    for name in ("good", "no-manifest", "no-blob", "no-params", "no-messages"):
        pack(store, name, good)
    base = store.root / "manifests" / "registry.ollama.ai" / "library"
    (base / "no-manifest" / "latest").write_bytes(b"{")
    (base / "no-blob" / "latest").write_bytes(
        encode_manifest(manifest_of(store, ABSENT, Layer(LAYER_TYPE + "system", ABSENT.digest, 1)))
    )
    pack(store, "no-params", blob(store, "params", b"[]"))
    pack(store, "no-messages", blob(store, "messages", b'[{"content":1}]'))
    assert [package.name.model for package in store.packages()] == ["good"]
    assert len(store.names()) == 5
    for name, message in (
        ("no-manifest", "manifest is damaged"),
        ("no-blob", "model 'no-blob:latest' is incomplete: blob"),
        ("no-params", "params layer is damaged"),
        ("no-messages", "messages layer is damaged"),
    ):
        with pytest.raises(StoreError, match=message):
            store.load(parse_name(name))


def test_a_name_is_given_only_to_a_complete_model(store: Store) -> None:
    with pytest.raises(BlobNotFound):
        pack(store, "m", ABSENT)
    assert store.names() == []


def test_overwriting_removes_what_only_the_old_model_needed(store: Store) -> None:
    shared, old, new = (blob(store, "system", text) for text in (b"shared", b"old", b"new"))
    pack(store, "m", shared, old)
    pack(store, "m", shared, new)
    assert [store.has_blob(layer.digest) for layer in (shared, old, new)] == [True, False, True]


def test_overwriting_keeps_blobs_if_asked_to(tmp_path: Path) -> None:
    store = Store(tmp_path, noprune=True)
    old = blob(store, "system", b"old")
    pack(store, "m", old)
    pack(store, "m", blob(store, "system", b"new"))
    assert store.has_blob(old.digest)


def test_deleting_keeps_what_others_need(store: Store) -> None:
    shared, own = blob(store, "model", b"shared"), blob(store, "system", b"own")
    pack(store, "a", shared, own)
    pack(store, "b", shared)
    store.delete(parse_name("a"))
    assert store.has_blob(shared.digest)
    assert not store.has_blob(own.digest)
    store.delete(parse_name("b"))
    assert tree(store) == {}
    assert os.listdir(store.root / "manifests") == []
    with pytest.raises(ModelNotFound, match="model 'b:latest' not found"):
        store.delete(parse_name("b"))


def test_a_damaged_model_can_be_deleted(store: Store) -> None:
    pack(store, "m")
    (store.root / "manifests" / "registry.ollama.ai" / "library" / "m" / "latest").write_bytes(b"{")
    store.delete(parse_name("m"))
    assert store.names() == []


def test_deleting_a_linked_model_leaves_the_user_his_file(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(gguf())
    pack(store, "m", store.link_file(path))
    store.delete(parse_name("m"))
    assert path.read_bytes() == gguf()
    assert tree(store) == {}


def test_copying(store: Store) -> None:
    old = blob(store, "system", b"old")
    pack(store, "a", blob(store, "system", b"1"))
    pack(store, "b", old)
    store.copy(parse_name("a"), parse_name("b"))
    assert store.load(parse_name("b")).digest == store.load(parse_name("a")).digest
    assert not store.has_blob(old.digest)
    before = tree(store), store.load(parse_name("a")).modified_ns
    store.copy(parse_name("a"), parse_name("A:Latest"))
    assert (tree(store), store.load(parse_name("a")).modified_ns) == before
    with pytest.raises(ModelNotFound):
        store.copy(parse_name("absent"), parse_name("c"))


def test_pruning_removes_old_needless_files_only(store: Store, tmp_path: Path) -> None:
    needed, needless = blob(store, "system", b"needed"), blob(store, "system", b"needless")
    pack(store, "m", needed)
    blobs = store.root / "blobs"
    (blobs / "sha256-abc-partial").write_bytes(b"x")
    (blobs / "folder").mkdir()
    linked = tmp_path / "weights.gguf"
    linked.write_bytes(gguf())
    os.utime(linked, ns=(LONG_AGO_NS, LONG_AGO_NS))
    digest = store.link_file(linked).digest
    assert store.prune().removed == ()
    make_old(store)
    os.utime(linked, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert sorted(store.prune().removed) == sorted(["sha256-abc-partial", needless.digest.replace(":", "-")])
    assert store.has_blob(needed.digest)
    assert store.has_blob(digest), "it was linked a moment ago, whatever the age of the file"
    later = Store(store.root, now_ns=lambda: LONG_AGO_NS + (1 << 62))
    make_old(later)
    assert later.prune().removed == (digest.replace(":", "-"),)
    assert linked.exists()
    assert not os.listdir(store.root / "shim" / "linked")


def test_pruning_does_nothing_where_a_manifest_is_damaged(store: Store) -> None:
    needless = blob(store, "system", b"needless")
    pack(store, "m")
    make_old(store)
    path = store.root / "manifests" / "registry.ollama.ai" / "library" / "m" / "latest"
    path.write_bytes(b"{")
    assert "damaged" in store.prune().skipped
    assert store.has_blob(needless.digest)


def test_pruning_brings_an_old_store_up_to_date(store: Store) -> None:
    layer = blob(store, "system", b"text")
    pack(store, "m", layer)
    blobs = store.root / "blobs"
    for path in list(blobs.iterdir()):
        path.rename(blobs / path.name.replace("-", ":"))
    (store.root / "manifests" / "host" / "empty").mkdir(parents=True)
    make_old(store)
    assert store.prune(age_ns=HOUR_NS).removed == ()
    assert store.load(parse_name("m")).system == "text"
    assert os.listdir(store.root / "manifests") == ["registry.ollama.ai"]


def test_reading_writes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "absent")
    assert store.names() == []
    assert store.packages() == []
    assert not store.has_blob(ABSENT.digest)
    with pytest.raises(ModelNotFound):
        store.load(parse_name("m"))
    assert not (tmp_path / "absent").exists()


@pytest.mark.slow
def test_a_model_made_anew_while_it_is_read_is_read_whole(store: Store) -> None:
    """Readers take no lock, and the blobs of an overwritten model are removed under them."""
    pack(store, "m", blob(store, "system", b"0"))
    done = threading.Event()
    failures: list[Exception] = []

    def read() -> None:
        while not done.is_set():
            try:
                assert store.load(parse_name("m")).system.isdigit()
            except Exception as error:  # noqa: BLE001  # reported by the main thread
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 40):
        pack(store, "m", blob(store, "system", str(number).encode()))
    done.set()
    reader.join()
    assert failures == []


@pytest.mark.slow
def test_names_and_deletions_side_by_side_never_leave_a_broken_model(store: Store) -> None:
    """Two threads name and delete models that share a blob; each name is complete or refused."""
    shared = b"shared"
    refused: list[str] = []

    def churn(name: str) -> None:
        for _ in range(25):
            try:
                pack(store, name, blob(store, "model", shared))
            except BlobNotFound:
                refused.append(name)
                continue
            store.delete(parse_name(name))

    threads = [threading.Thread(target=churn, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.packages() == []
    assert store.names() == []
    pack(store, "a", blob(store, "model", shared))
    assert store.load(parse_name("a")).model_path is not None
