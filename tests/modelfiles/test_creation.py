"""Create requests: refusals before the stream, small layers, configs, numbers for people."""

import hashlib

import pytest

from modelfiles.creation import (
    Content,
    CreateRequest,
    check_request,
    family_defaults,
    human_number,
    make_config,
    small_layers,
)
from modelfiles.errors import CreateError
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.messages import Message
from modelfiles.package import LAYER_TYPE, Config, Layer, encode_config
from tests.modelfiles.gguf.building import DENSE, STRING, gguf

DIGEST = "sha256:" + "0" * 64


def header() -> GGUF:
    raw = gguf(DENSE)
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../b", "./x", "a//b", "a/", "", "a/."])
def test_paths_must_lead_down(path: str) -> None:
    for request in (
        CreateRequest(model="m", files={path: DIGEST}),
        CreateRequest(model="", draft_files={path: DIGEST}),
        CreateRequest(model="", adapters={path: DIGEST}),
    ):
        with pytest.raises(CreateError, match="file path must be relative") as caught:
            check_request(request)
        assert caught.value.early


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (CreateRequest(model="m", files={"a.gguf": ""}), "invalid digest format"),
        (CreateRequest(model="m", files={"a.gguf": "sha256:../x"}), "invalid digest format"),
        (CreateRequest(model="m", draft_quantize="Q8_0"), "--draft-quantize requires a DRAFT model"),
        (CreateRequest(model=""), "invalid model name"),
        (CreateRequest(model="a b"), "invalid model name"),
        (CreateRequest(model="m", adapters={"a": "md5:0"}), "invalid digest format"),
        (CreateRequest(model="m", imatrix="x"), "invalid digest format"),
        (CreateRequest(model="m", requires="soon"), r"requires must be a valid semver \(e.g. 0.14.0\)"),
    ],
)
def test_early_refusals(request_: CreateRequest, message: str) -> None:
    with pytest.raises(CreateError, match=message) as caught:
        check_request(request_)
    assert caught.value.early


def test_good_requests_pass() -> None:
    check_request(CreateRequest(model="x/m:t", files={"a/b c.gguf": DIGEST, ".": DIGEST, "..a": DIGEST}))


def layer(kind: str) -> Layer:
    return Layer(LAYER_TYPE + kind, DIGEST, 1)


def test_layers_come_in_the_order_of_ollama() -> None:
    request = CreateRequest(
        model="m",
        system="Say hi!",
        licenses=("one", "", "two"),
        messages=(Message("user", "hi"), Message("assistant", "a<b", thinking="t", images=(b"x",))),
    )
    inherited = [layer(kind) for kind in ("model", "template", "system", "license", "params", "messages")]
    kept, contents = small_layers(
        request, inherited, {"top_k": 10, "stop": ["USER:", "ASSISTANT:"], "temperature": 1}
    )
    assert [item.kind for item in kept] == ["model", "template", "license"]
    assert [(item.kind, item.data) for item in contents] == [
        ("system", b"Say hi!"),
        ("license", b"one"),
        ("license", b"two"),
        ("params", b'{"stop":["USER:","ASSISTANT:"],"temperature":1,"top_k":10}\n'),
        (
            "messages",
            b'[{"role":"user","content":"hi"},'
            b'{"role":"assistant","content":"a\\u003cb","thinking":"t","images":["eA=="]}]\n',
        ),
    ]
    assert contents[0].digest == "sha256:f29e82a8284dbdf5910b1555580ff60b04238b8da9d5e51159ada67a4d0d5851"
    assert contents[3].digest == "sha256:1d0ad71299d48c2fb7ae2b98e683643e771f8a5b72be34942af90d97a91c1e37"


def test_a_template_replaces_the_inherited_one() -> None:
    inherited = [layer(kind) for kind in ("model", "prompt", "template", "system")]
    kept, contents = small_layers(CreateRequest(model="m", template="{{ .Prompt }}"), inherited, {})
    assert [item.kind for item in kept] == ["model", "system"]
    assert contents == [Content("template", b"{{ .Prompt }}")]


def test_the_config_of_an_empty_file_is_that_of_ollama() -> None:
    raw = gguf({"general.architecture": (STRING, "test")}, [])
    empty = parse_gguf(lambda at, count: raw[at : at + count], len(raw))
    config = encode_config(make_config(CreateRequest(model="m"), Config(), [empty]))
    expected = "99759ad5b91e723db0393d698ffbb448b1b7df5ff6377a108c49254583b1bc8c"
    assert hashlib.sha256(config).hexdigest() == expected


@pytest.mark.parametrize(
    ("architecture", "speech", "stops"),
    [
        ("gemma4", "gemma4", ["<turn|>"]),
        ("laguna", "laguna", None),
        ("nemotron_h_moe", "nemotron-3-nano", None),
        ("llama", "", None),
    ],
)
def test_families_that_speak_in_their_own_way(
    architecture: str, speech: str, stops: list[str] | None
) -> None:
    raw = gguf({**DENSE, "general.architecture": (STRING, architecture)})
    weights = parse_gguf(lambda at, count: raw[at : at + count], len(raw))
    config = make_config(CreateRequest(model="m"), Config(), [weights])
    assert (config.renderer, config.parser) == (speech, speech)
    assert family_defaults([weights], {}) == ({"stop": stops} if stops else {})
    assert family_defaults([weights], {"stop": ["x"]}) == {}
    told = make_config(CreateRequest(model="m", renderer="r", parser="p"), Config(), [weights])
    assert (told.renderer, told.parser) == ("r", "p")


def test_a_v_is_no_part_of_a_version() -> None:
    assert make_config(CreateRequest(model="m", requires="v0.14.0"), Config(), []).requires == "0.14.0"


def test_empty_texts_keep_what_is_inherited() -> None:
    inherited = [layer(kind) for kind in ("model", "system", "messages")]
    assert small_layers(CreateRequest(model="m"), inherited, {}) == (inherited, [])


def test_the_config_says_what_the_weights_say() -> None:
    config = make_config(CreateRequest(model="m"), Config(), [header(), header()])
    assert config == Config("gguf", "llama", ("llama", "llama"), "64", "Q4_K_M")


def test_some_of_the_config_is_inherited_unless_the_request_says_otherwise() -> None:
    inherited = Config("gguf", "old", ("old",), "1B", "F32", "r", "p", "1.0.0", capabilities=("tools",))
    config = make_config(CreateRequest(model="m", parser="q"), inherited, [header()])
    assert config == Config(
        "gguf", "llama", ("llama",), "64", "Q4_K_M", "r", "q", "1.0.0", capabilities=("tools",)
    )


def test_info_overrides_the_weights() -> None:
    info: dict[str, object] = {
        "model_family": "f",
        "base_name": "b",
        "quantization_level": "Q",
        "parameter_size": "9B",
        "context_length": 5.0,
        "embedding_length": 6,
        "capabilities": ["tools", "vision"],
        "unknown": object(),
    }
    config = make_config(CreateRequest(model="m", info=info), Config(capabilities=("vision",)), [header()])
    assert config == Config(
        "gguf", "f", ("llama",), "9B", "Q",
        capabilities=("vision", "tools"), context_length=5, embedding_length=6, base_name="b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"model_family": 1}, 'info field "model_family" must be a string'),
        ({"parameter_size": ["x"]}, 'info field "parameter_size" must be a string'),
        ({"context_length": "5"}, 'info field "context_length" must be a number'),
        ({"context_length": True}, 'info field "context_length" must be a number'),
        ({"embedding_length": -1}, 'info field "embedding_length" must be a non-negative integer'),
        ({"embedding_length": float("inf")}, 'info field "embedding_length" must be a non-negative integer'),
        ({"embedding_length": 1.5}, 'info field "embedding_length" must be a non-negative integer'),
        ({"capabilities": "tools"}, 'info field "capabilities" must be an array of strings'),
    ],
)
def test_info_of_the_wrong_kind(info: dict[str, object], message: str) -> None:
    with pytest.raises(CreateError, match=message):
        make_config(CreateRequest(model="m", info=info), Config(), [header()])


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"), (999, "999"), (12_000, "12K"), (137_000_000, "137M"), (22_566_000, "22.57M"),
        (134_515_008, "134.52M"), (8_000_000_000, "8B"), (7_241_732_096, "7.2B"), (35_950_000_000, "36.0B"),
    ],
)  # fmt: skip
def test_numbers_for_people(count: int, text: str) -> None:
    assert human_number(count) == text
