"""What is told of a model: details, metadata, and everything at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from modelfiles.describe import Details, ShowOptions, TensorLine, details, metadata, show
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from tests.modelfiles.gguf.building import ARRAY, BOOL, DENSE, F32, STRING, U32, gguf, weights

WORDS = ["a"] * 300
CONFIG = Config("gguf", "llama", ("llama",), "64", "Q4_K_M", requires="0.14.0")
PACKAGE = Package(
    parse_name("m"), "0" * 64, 1, 5, CONFIG, Path("/x"),
    system="be kind", parameters={"top_k": 1}, licenses=("MIT", "more"), parent_model="base:1",
)  # fmt: skip
METADATA: dict[str, tuple[int, object]] = {
    **DENSE,
    "tokenizer.chat_template": (STRING, "{{ tools }}"),
    "tokenizer.ggml.tokens": (ARRAY, (STRING, WORDS)),
    "llama.layers": (ARRAY, (U32, [1, 2])),
    "llama.none": (ARRAY, (U32, [])),
    "llama.eps": (F32, 1e-5),
    "llama.base": (F32, 1e6),
    "llama.odd": (F32, 0.1),
    "llama.infinite": (F32, float("inf")),
    "llama.yes": (BOOL, True),
}


def header(*, arrays: bool = False) -> GGUF:
    raw = gguf(METADATA, weights(1))
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw), arrays=arrays)


def test_details_are_those_of_the_config_and_the_lengths_of_the_weights() -> None:
    assert details(PACKAGE, header()) == Details(
        "base:1", "gguf", "llama", ("llama",), "64", "Q4_K_M", 128, 32
    )
    remote = replace(PACKAGE, config=replace(CONFIG, context_length=9, embedding_length=8))
    assert details(remote, None).context_length == 9
    assert details(remote, header()).embedding_length == 32


def test_metadata_is_sorted_and_arrays_are_hidden() -> None:
    told = metadata(header())
    assert list(told) == sorted(told)
    assert "general.name" not in told
    assert "tokenizer.chat_template" not in told
    assert told["general.parameter_count"] == 32
    assert told["llama.block_count"] == 1
    assert told["llama.yes"] is True
    assert (told["tokenizer.ggml.tokens"], told["llama.layers"], told["llama.none"]) == (None, None, [])


def test_floats_are_told_as_short_as_they_are_meant() -> None:
    told = metadata(header())
    assert (told["llama.eps"], told["llama.base"], told["llama.odd"]) == (1e-5, 1e6, 0.1)
    assert told["llama.infinite"] is None


def test_verbose_tells_arrays() -> None:
    told = metadata(header(arrays=True), verbose=True)
    assert (told["tokenizer.ggml.tokens"], told["llama.layers"], told["llama.none"]) == (WORDS, [1, 2], [])


def test_everything_at_once() -> None:
    info = show(PACKAGE, header())
    assert (info.license, info.system, info.requires, info.modified_ns) == (
        "MIT\nmore",
        "be kind",
        "0.14.0",
        5,
    )
    assert info.template == "{{ tools }}"
    assert info.capabilities == ("tools", "completion")
    assert info.tensors == (TensorLine("blk.0.weight", "F32", (32,)),)
    assert info.parameters == "top_k                          1"
    assert info.projector_info == {}
    assert "SYSTEM be kind\nPARAMETER top_k 1\n" in info.modelfile


def test_the_request_may_overlay_texts() -> None:
    info = show(PACKAGE, header(), options=ShowOptions(system="be brief", options={"top_k": 2, "seed": 3}))
    assert info.system == "be brief"
    assert "SYSTEM be brief\nPARAMETER seed 3\nPARAMETER top_k 2\n" in info.modelfile
    assert info.parameters == "top_k                          1"


def test_a_projector_is_told_of() -> None:
    info = show(replace(PACKAGE, projectors=(Path("/p"),)), header(), (header(),))
    assert info.projector_info["general.architecture"] == "llama"


@pytest.mark.parametrize("level", ["", "unknown"])
def test_an_unknown_quantization_is_repaired(level: str) -> None:
    package = replace(PACKAGE, config=replace(CONFIG, file_type=level))
    assert show(package, header()).details.quantization_level == "Q4_K_M"
    assert details(package, header()).quantization_level == level


def test_a_remote_model() -> None:
    config = Config("", "f", remote_host="h", remote_model="r", base_name="b", context_length=5)
    package = Package(parse_name("m"), "0" * 64, 1, 0, config, None)
    info = show(package, None)
    assert info.model_info == {"general.architecture": "f", "general.basename": "b", "f.context_length": 5}
    assert (info.remote_host, info.remote_model, info.tensors) == ("h", "r", ())
    assert "FROM /" not in info.modelfile
    assert show(replace(package, config=Config()), None).model_info == {}
