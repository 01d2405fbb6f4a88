"""Adapters: which fit a model, and what becomes of them in a create request."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, create
from modelfiles.errors import CreateError
from modelfiles.names import parse_name
from modelfiles.store import Store
from tests.modelfiles.gguf.building import DENSE, STRING, Tensor, gguf

ADAPTER: Mapping[str, tuple[int, object]] = {
    "general.architecture": (STRING, "llama"),
    "general.type": (STRING, "adapter"),
    "adapter.type": (STRING, "lora"),
}


def tensors(*shapes: tuple[str, tuple[int, ...]]) -> list[Tensor]:
    """F32 tensors one behind the other."""
    made: list[Tensor] = []
    offset = 0
    for name, shape in shapes:
        nbytes = shape[0] * shape[1] * 4
        made.append((name, shape, 0, offset, nbytes))
        offset += nbytes
    return made


BASE = gguf(DENSE, tensors(("token_embd.weight", (32, 16)), ("blk.0.attn_q.weight", (32, 64))))
QUERY = (("blk.0.attn_q.weight.lora_a", (32, 8)), ("blk.0.attn_q.weight.lora_b", (8, 64)))
TOKENS = (("token_embd.weight.lora_a", (8, 16)), ("token_embd.weight.lora_b", (8, 32)))
GOOD = gguf(ADAPTER, tensors(*QUERY, *TOKENS, ("blk.0.attn_norm.weight", (8, 4))))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def make(store: Store, *adapters: bytes, name: str = "m", from_: str = "") -> list[str]:
    statuses: list[str] = []
    request = CreateRequest(
        model=name,
        from_=from_,
        files={} if from_ else {"base.gguf": store.write_blob([BASE])},
        adapters={f"{index}.gguf": store.write_blob([data]) for index, data in enumerate(adapters)},
    )
    create(store, request, lambda item: statuses.append(item.status))
    return statuses


def test_a_model_with_an_adapter(store: Store) -> None:
    statuses = make(store, GOOD)
    package = store.load(parse_name("m"))
    assert [layer.kind for layer in package.layers] == ["model", "adapter"]
    assert [path.read_bytes() for path in package.adapters] == [GOOD]
    assert package.config.model_families == ("llama",)
    assert statuses == [
        *["parsing GGUF"] * 2,
        *[f"using existing layer {layer.digest}" for layer in package.layers],
        "writing manifest",
        "success",
    ]


def test_an_adapter_comes_behind_those_that_are_inherited(store: Store) -> None:
    make(store, GOOD)
    make(store, gguf(ADAPTER, tensors(*QUERY)), name="child", from_="m")
    assert [layer.kind for layer in store.load(parse_name("child")).layers] == ["model", "adapter", "adapter"]


def test_an_adapter_among_the_files(store: Store) -> None:
    files = {"a.gguf": store.write_blob([GOOD]), "b.gguf": store.write_blob([BASE])}
    create(store, CreateRequest(model="m", files=files), lambda item: None)
    assert [layer.kind for layer in store.load(parse_name("m")).layers] == ["model", "adapter"]


REFUSED = {
    "only 'lora' is supported": gguf({**ADAPTER, "adapter.type": (STRING, "alora")}, tensors(*QUERY)),
    "0.gguf is not an adapter": BASE,
    "architecture 'qwen3', but the model is 'llama'": gguf(
        {**ADAPTER, "general.architecture": (STRING, "qwen3")}, tensors(*QUERY)
    ),
    "for another model: this one has no blk.9.x": gguf(
        ADAPTER, tensors(("blk.9.x.lora_a", (32, 8)), ("blk.9.x.lora_b", (8, 64)))
    ),
    "blk.0.attn_q.weight has the shape": gguf(
        ADAPTER, tensors(QUERY[0], ("blk.0.attn_q.weight.lora_b", (8, 63)))
    ),
    "token_embd.weight has the shape": gguf(
        ADAPTER, tensors(("token_embd.weight.lora_a", (32, 8)), ("token_embd.weight.lora_b", (8, 16)))
    ),
    "only one of the two tensors for blk.0.attn_q.weight": gguf(ADAPTER, tensors(QUERY[0])),
    "holds blk.0.attn_q.weight, which is no part": gguf(ADAPTER, tensors(("blk.0.attn_q.weight", (32, 64)))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_adapters_that_do_not_fit(store: Store, message: str) -> None:
    with pytest.raises(CreateError, match=message.replace(".", r"\.")):
        make(store, REFUSED[message])
    assert store.names() == []


def test_only_one_at_a_time(store: Store) -> None:
    with pytest.raises(CreateError, match=r"^only one adapter is currently supported$"):
        make(store, GOOD, gguf(ADAPTER, tensors(*QUERY)))
