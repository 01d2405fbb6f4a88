"""Creating models: progress, inheritance, refusals, and what is in the store afterwards."""

import json
import os
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BadGGUF, BlobNotFound, CreateError, ModelfilesError, ModelNotFound, StoreError
from modelfiles.messages import Message
from modelfiles.names import parse_name
from modelfiles.package import Package, parse_manifest
from modelfiles.store import Store
from tests.modelfiles.gguf.building import BOOL, DENSE, MIXTURE, STRING, U32, gguf, weights
from tests.modelfiles.store.packing import blob, pack

SAY_HI = "sha256:f29e82a8284dbdf5910b1555580ff60b04238b8da9d5e51159ada67a4d0d5851"
CLIP: dict[str, tuple[int, object]] = {
    "general.architecture": (STRING, "clip"),
    "clip.has_vision_encoder": (BOOL, True),
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


class Maker:
    """Creates models in one store and keeps what was reported."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.items: list[Progress] = []

    def upload(self, data: bytes) -> str:
        return self.store.write_blob([data])

    def make(self, request: CreateRequest) -> Package:
        self.items = []
        create(self.store, request, self.items.append)
        return self.store.load(parse_name(request.model))

    @property
    def statuses(self) -> list[str]:
        return [item.status for item in self.items]


@pytest.fixture
def maker(store: Store) -> Maker:
    return Maker(store)


def layers_of(store: Store, name: str) -> list[dict[str, object]]:
    path = store.root / "manifests" / parse_name(name).path
    found: list[dict[str, object]] = json.loads(path.read_bytes())["layers"]
    return found


def files_in(store: Store) -> set[str]:
    return {str(path.relative_to(store.root)) for path in store.root.rglob("*") if path.is_file()}


def test_a_model_from_a_file(maker: Maker) -> None:
    raw = gguf(MIXTURE)
    digest = maker.upload(raw)
    package = maker.make(
        CreateRequest(
            model="m",
            files={"moe.gguf": digest},
            system="Say hi!",
            parameters={"top_k": 10, "num_experts_used": 2, "ctx_size": 64},
        )
    )
    params = layers_of(maker.store, "m")[-1]
    assert maker.statuses == [
        "parsing GGUF",
        f"using existing layer {digest}",
        f"creating new layer {SAY_HI}",
        f"creating new layer {params['digest']}",
        "writing manifest",
        "success",
    ]
    assert package.model_path is not None
    assert package.model_path.read_bytes() == raw
    assert dict(package.parameters) == {"top_k": 10, "num_experts_used": 2, "num_ctx": 64}
    assert package.system == "Say hi!"
    assert (package.config.model_format, package.config.model_family, package.config.file_type) == (
        "gguf", "llama", "Q4_K_M",
    )  # fmt: skip
    assert maker.store.blob_path(str(params["digest"])).read_bytes() == (
        b'{"num_ctx":64,"num_experts_used":2,"top_k":10}\n'
    )


def test_a_model_from_a_model(maker: Maker) -> None:
    files = {"a.gguf": maker.upload(gguf())}
    maker.make(
        CreateRequest(
            model="base:1",
            files=files,
            system="old",
            licenses=("MIT",),
            parameters={"top_k": 1, "seed": 7},
            messages=(Message("user", "old"),),
            renderer="r",
        )
    )
    package = maker.make(
        CreateRequest(
            model="child",
            from_="BASE:1",
            system="new",
            licenses=("extra",),
            parameters={"top_k": 2},
            messages=(Message("user", "new"), Message("assistant", "yes")),
        )
    )
    assert package.parent_model == "base:1"
    assert (package.system, package.licenses) == ("new", ("MIT", "extra"))
    assert dict(package.parameters) == {"top_k": 2, "seed": 7}
    assert [message.content for message in package.messages] == ["new", "yes"]
    assert package.config.renderer == "r"
    kinds = [str(layer["mediaType"]).rpartition(".")[2] for layer in layers_of(maker.store, "child")]
    assert kinds == ["model", "license", "system", "license", "params", "messages"]
    assert [layer.get("from") for layer in layers_of(maker.store, "child")[:2]] == ["base:1", "base:1"]
    assert "parsing GGUF" not in maker.statuses


def test_a_model_may_be_made_anew_from_itself(maker: Maker) -> None:
    maker.make(CreateRequest(model="m", files={"a.gguf": maker.upload(gguf())}, system="old"))
    old = maker.store.manifest(parse_name("m"))
    package = maker.make(CreateRequest(model="M", from_="m", system="new"))
    assert package.system == "new"
    assert [name.display for name in maker.store.names()] == ["m:latest"]
    gone = {layer.digest for layer in old.of_kind("system")}
    assert not any(maker.store.has_blob(digest) for digest in gone)


def test_the_same_request_twice_changes_nothing(maker: Maker) -> None:
    request = CreateRequest(model="m", files={"a.gguf": maker.upload(gguf())}, system="Say hi!")
    first = maker.make(request)
    before = files_in(maker.store)
    assert maker.make(request).digest == first.digest
    assert files_in(maker.store) == before
    assert f"using existing layer {SAY_HI}" in maker.statuses


def test_a_model_with_a_projector(maker: Maker) -> None:
    files = {"z-model.gguf": maker.upload(gguf()), "mmproj.gguf": maker.upload(gguf(CLIP))}
    package = maker.make(CreateRequest(model="m", files=files))
    assert package.config.model_families == ("llama", "clip")
    assert len(package.projectors) == 1
    assert maker.statuses[:2] == ["parsing GGUF"] * 2
    assert maker.statuses[2] == f"using existing layer {files['z-model.gguf']}"


def test_a_wrong_number_of_experts_is_told_and_not_stored(maker: Maker) -> None:
    files = {"a.gguf": maker.upload(gguf(MIXTURE))}
    package = maker.make(CreateRequest(model="m", files=files, parameters={"num_experts": 128, "seed": 1}))
    assert "warning: num_experts is 128, but the model has 8 experts; it is not stored" in maker.statuses
    assert dict(package.parameters) == {"seed": 1}


def test_experts_are_held_against_the_model_that_is_inherited(maker: Maker) -> None:
    maker.make(CreateRequest(model="base", files={"a.gguf": maker.upload(gguf(MIXTURE))}))
    package = maker.make(CreateRequest(model="m", from_="base", parameters={"num_experts_used": 8}))
    assert dict(package.parameters) == {"num_experts_used": 8}
    with pytest.raises(CreateError, match="between 1 and 8"):
        maker.make(CreateRequest(model="m", from_="base", parameters={"num_experts_used": 9}))
    assert dict(maker.store.load(parse_name("m")).parameters) == {"num_experts_used": 8}


ABSENT = "sha256:" + "0" * 64
REFUSED: dict[str, tuple[bytes | None, str, dict[str, object], type[ModelfilesError], str]] = {
    "dense with experts": (gguf(), "a.gguf", {"num_experts_used": 1}, CreateError, "the model is dense"),
    "no blob": (None, "a.gguf", {}, BlobNotFound, "not found"),
    "no blob, no type": (None, "a.txt", {}, CreateError, "unknown type"),
    "no type": (b"hello", "a.txt", {}, CreateError, "unknown type"),
    "no gguf": (b"hello", "a.gguf", {}, CreateError, "supplied file was not in GGUF format"),
    "safetensors": (b"hello", "a.safetensors", {}, CreateError, "convert them to GGUF"),
    "truncated": (gguf()[:-1], "a.gguf", {}, BadGGUF, r"a\.gguf: .*truncated"),
    "no tensors": (gguf(DENSE, []), "a.gguf", {}, BadGGUF, r"a\.gguf: the file has no tensors"),
    "no layers": (gguf({**DENSE, "llama.block_count": (U32, 0)}), "a.gguf", {}, BadGGUF, "block_count"),
    "no heads": (
        gguf({**DENSE, "llama.attention.head_count": (U32, 0)}), "a.gguf", {}, BadGGUF, "head_count",
    ),
    "used without experts": (
        gguf({**DENSE, "llama.expert_count": (U32, 0), "llama.expert_used_count": (U32, 4)}),
        "a.gguf", {}, BadGGUF, "expert_used_count",
    ),
    "nothing but an architecture": (
        gguf({"general.architecture": (STRING, "llama")}, []), "a.gguf", {}, BadGGUF, "no tensors",
    ),
    "an adapter": (
        gguf({"general.architecture": (STRING, "llama"), "general.type": (STRING, "adapter")}),
        "a.gguf", {}, CreateError, "which goes into ADAPTER",
    ),
    "only a projector": (gguf(CLIP), "a.gguf", {}, CreateError, "no model that it belongs to"),
    "bad parameter": (gguf(), "a.gguf", {"cpu_moe": "maybe"}, CreateError, "must be of type bool"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_without_a_trace(maker: Maker, case: str) -> None:
    data, name, parameters, error, message = REFUSED[case]
    digest = ABSENT if data is None else maker.upload(data)
    before = files_in(maker.store)
    with pytest.raises(error, match=message):
        maker.make(CreateRequest(model="m", files={name: digest}, system="new", parameters=parameters))
    assert files_in(maker.store) == before
    assert maker.store.names() == []


def test_two_models_at_once_are_refused(maker: Maker) -> None:
    files = {"a.gguf": maker.upload(gguf()), "b.gguf": maker.upload(gguf(MIXTURE))}
    with pytest.raises(CreateError, match="the files hold 2 models"):
        maker.make(CreateRequest(model="m", files=files))


def test_a_request_without_a_source(maker: Maker) -> None:
    with pytest.raises(CreateError, match="neither 'from' or 'files' was specified"):
        maker.make(CreateRequest(model="m"))


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("absent", ModelNotFound, "model 'absent:latest' not found"),
        ("a b", CreateError, "invalid model name"),
        ("x:cloud", CreateError, "remote model is unavailable"),
        ("stub", CreateError, "stub:latest has no GGUF weights"),
    ],
)
def test_sources_that_cannot_be(
    maker: Maker, source: str, error: type[ModelfilesError], message: str
) -> None:
    pack(maker.store, "stub")
    with pytest.raises(error, match=message):
        maker.make(CreateRequest(model="m", from_=source))


def test_a_source_of_ollama_with_a_template_keeps_it(maker: Maker) -> None:
    store = maker.store
    pack(store, "base", blob(store, "model", gguf()), blob(store, "template", b"{{ .Prompt }}"))
    assert maker.make(CreateRequest(model="m", from_="base:local")).template == "{{ .Prompt }}"


def test_a_template_replaces_the_inherited_one(maker: Maker) -> None:
    files = {"a.gguf": maker.upload(gguf())}
    maker.make(CreateRequest(model="m", files=files, template="{{ .System }} {{ .Prompt }}"))
    assert maker.make(CreateRequest(model="child", from_="m")).template == "{{ .System }} {{ .Prompt }}"
    assert (
        maker.make(CreateRequest(model="m", from_="m", template="{{ .Prompt }}")).template == "{{ .Prompt }}"
    )


def test_a_template_that_does_not_parse_is_refused_in_the_words_of_the_parser(maker: Maker) -> None:
    with pytest.raises(CreateError, match=r"^template error: template: :2: "):
        maker.make(CreateRequest(model="m", files={}, template="a\n{{ if }}"))
    assert maker.items == []


CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
WITH_TEMPLATE = {**DENSE, "tokenizer.chat_template": (STRING, CHATML)}


def test_a_well_known_template_is_found(maker: Maker) -> None:
    package = maker.make(
        CreateRequest(model="m", files={"a.gguf": maker.upload(gguf(WITH_TEMPLATE))}, parameters={"seed": 1})
    )
    assert package.template is not None
    assert "<|im_start|>" in package.template
    assert dict(package.parameters) == {"seed": 1, "stop": ["<|im_start|>", "<|im_end|>"]}
    assert maker.statuses[2] == "using autodetected template chatml"
    assert maker.statuses[3].startswith("creating new layer")


def test_what_the_request_says_wins_over_what_is_found(maker: Maker) -> None:
    files = {"a.gguf": maker.upload(gguf(WITH_TEMPLATE))}
    package = maker.make(CreateRequest(model="m", files=files, parameters={"stop": ["x"]}))
    assert dict(package.parameters) == {"stop": ["x"]}
    package = maker.make(CreateRequest(model="m", files=files, template="{{ .Prompt }}"))
    assert (package.template, dict(package.parameters)) == ("{{ .Prompt }}", {})
    assert not any("autodetected" in status for status in maker.statuses)


def test_templates_are_not_looked_for_in_models(maker: Maker) -> None:
    pack(maker.store, "base", blob(maker.store, "model", gguf(WITH_TEMPLATE)))
    assert maker.make(CreateRequest(model="m", from_="base")).template is None


def test_a_stub_of_a_remote_model(maker: Maker) -> None:
    package = maker.make(
        CreateRequest(
            model="m",
            from_="big:70b",
            remote_host="ollama.com",
            system="hi",
            info={"model_family": "llama", "context_length": 4096},
        )
    )
    config = package.config
    assert (config.remote_host, config.remote_model) == ("https://ollama.com:443", "big:70b")
    assert (config.model_family, config.context_length, package.model_path) == ("llama", 4096, None)
    with pytest.raises(CreateError, match="DRAFT cannot be used with remote models"):
        maker.make(CreateRequest(model="m", from_="x", remote_host="x", draft_files={"d": ABSENT}))


def test_a_draft_replaces_the_inherited_one(maker: Maker) -> None:
    first, second = maker.upload(gguf(MIXTURE)), maker.upload(gguf(DENSE, weights(1)))
    files = {"a.gguf": maker.upload(gguf())}
    maker.make(CreateRequest(model="m", files=files, draft_files={"d.gguf": first}))
    package = maker.make(CreateRequest(model="m", from_="m", draft_files={"d.gguf": second}))
    assert [layer.digest for layer in package.layers if layer.kind == "draft"] == [second]
    assert package.drafts == (maker.store.blob_path(second),)
    with pytest.raises(CreateError, match="DRAFT must name one model"):
        maker.make(CreateRequest(model="m", from_="m", draft_files={"c.gguf": maker.upload(gguf(CLIP))}))


def test_versions_are_inherited(maker: Maker) -> None:
    maker.make(CreateRequest(model="m", files={"a.gguf": maker.upload(gguf())}, requires="v0.14.0"))
    assert maker.make(CreateRequest(model="child", from_="m")).config.requires == "0.14.0"
    assert maker.make(CreateRequest(model="child", from_="m", requires="1")).config.requires == "1"


def test_with_noprune_nothing_goes(tmp_path: Path) -> None:
    maker = Maker(Store(tmp_path / "models", noprune=True))
    maker.make(CreateRequest(model="m", files={"a.gguf": maker.upload(gguf())}, system="Say hi!"))
    maker.make(CreateRequest(model="m", from_="m", system="new"))
    assert maker.store.has_blob(SAY_HI)


def test_a_linked_file_that_was_changed_is_refused(maker: Maker, tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(gguf())
    digest = maker.store.link_file(path).digest
    if maker.store.blob_path(digest).stat().st_ino != path.stat().st_ino:
        pytest.skip("this file system clones, so the blob cannot be changed")
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(StoreError, match=r"weights\.gguf was changed"):
        maker.make(CreateRequest(model="m", files={"a.gguf": digest}))
    assert maker.store.names() == []


def test_a_caller_that_gives_up_leaves_the_old_model(maker: Maker) -> None:
    maker.make(CreateRequest(model="m", files={"a.gguf": maker.upload(gguf())}, system="old"))

    def give_up(item: Progress) -> None:
        if item.status == "writing manifest":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create(maker.store, CreateRequest(model="m", from_="m", system="new"), give_up)
    assert maker.store.load(parse_name("m")).system == "old"


def test_blobs_removed_by_others_meanwhile_are_written_again(maker: Maker) -> None:
    """Someone deletes the last model that had the same text, just before ours gets its name."""
    digest = maker.upload(gguf())
    removed: list[str] = []

    def interfere(item: Progress) -> None:
        if item.status == "writing manifest" and not removed:
            removed.append(SAY_HI)
            maker.store.blob_path(SAY_HI).unlink()

    create(maker.store, CreateRequest(model="m", files={"a.gguf": digest}, system="Say hi!"), interfere)
    assert removed
    assert maker.store.load(parse_name("m")).system == "Say hi!"


def test_weights_removed_by_others_are_named(maker: Maker) -> None:
    digest = maker.upload(gguf())

    def interfere(item: Progress) -> None:
        if item.status == "writing manifest":
            maker.store.blob_path(digest).unlink(missing_ok=True)

    with pytest.raises(StoreError, match="removed by someone else"):
        create(maker.store, CreateRequest(model="m", files={"a.gguf": digest}), interfere)
    assert maker.store.names() == []


def test_the_manifest_is_that_of_ollama(maker: Maker) -> None:
    maker.make(CreateRequest(model="x/m:t", files={"a.gguf": maker.upload(gguf(DENSE, weights(1)))}))
    data = (maker.store.root / "manifests" / "registry.ollama.ai" / "x" / "m" / "t").read_bytes()
    assert data.startswith(
        b'{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",'
    )
    assert data.endswith(b"}]}\n")
    assert parse_manifest(data).config.media_type == "application/vnd.docker.container.image.v1+json"
