"""What is refused before an engine sees it."""

import pytest

from modelfiles.errors import BadGGUF
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.gguf.check import check_usable, kind_of, split_count
from tests.modelfiles.gguf.building import ARRAY, BOOL, DENSE, MIXTURE, STRING, U16, U32, Tensor, gguf

Metadata = dict[str, tuple[int, object]]


def header(metadata: Metadata, tensors: list[Tensor] | None = None) -> GGUF:
    raw = gguf(metadata, tensors)
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


def without(metadata: Metadata, name: str) -> Metadata:
    return {key: value for key, value in metadata.items() if key != name}


@pytest.mark.parametrize(
    "metadata",
    [
        DENSE,
        MIXTURE,
        {**MIXTURE, "llama.expert_used_count": (U32, 8)},
        {**MIXTURE, "llama.expert_used_count": (ARRAY, (U32, [0, 2]))},
        {**MIXTURE, "llama.expert_group_count": (U32, 4), "llama.expert_group_used_count": (U32, 2)},
        {**DENSE, "llama.expert_count": (U32, 0), "llama.expert_used_count": (U32, 0)},
        {**DENSE, "llama.attention.head_count_kv": (ARRAY, (U32, [0, 0, 2]))},
        {**DENSE, "llama.nextn_predict_layers": (U32, 1)},
        {**DENSE, "llama.rope.scaling.type": (STRING, "yarn")},
    ],
)
def test_accepts(metadata: Metadata) -> None:
    check_usable(header(dict(metadata)))


def test_a_family_without_attention_has_no_heads() -> None:
    metadata = {name.replace("llama", "mamba"): content for name, content in DENSE.items()}
    metadata |= {"general.architecture": (STRING, "mamba"), "mamba.attention.head_count": (U32, 0)}
    check_usable(header(metadata))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (without(dict(DENSE), "general.architecture"), "general.architecture"),
        ({**DENSE, "general.architecture": (STRING, "")}, "general.architecture"),
        ({**DENSE, "llama.block_count": (U32, 0)}, "llama.block_count must be at least 1; the file says 0"),
        ({**DENSE, "llama.block_count": (U32, 513)}, "at most 512"),
        ({**DENSE, "llama.block_count": (STRING, "1")}, "the file says '1'"),
        (without(dict(DENSE), "llama.context_length"), "llama.context_length is missing"),
        ({**DENSE, "llama.embedding_length": (U32, 0)}, "llama.embedding_length"),
        ({**DENSE, "llama.attention.head_count": (U32, 0)}, "llama.attention.head_count must be at least 1"),
        ({**DENSE, "llama.attention.head_count_kv": (ARRAY, (U32, [0, 0]))}, "head_count_kv"),
        ({**DENSE, "llama.nextn_predict_layers": (U32, 2)}, "nextn_predict_layers"),
        ({**DENSE, "llama.rope.scaling.type": (STRING, "su")}, "none, linear, yarn, longrope"),
        (
            {**DENSE, "llama.expert_used_count": (U32, 4)},
            "0 or absent in a model without experts; the file says 4",
        ),
        ({**DENSE, "llama.expert_count": (U32, 8)}, "llama.expert_used_count is missing"),
        ({**MIXTURE, "llama.expert_used_count": (U32, 0)}, "between 1 and expert_count, 8"),
        ({**MIXTURE, "llama.expert_used_count": (U32, 9)}, "the file says 9"),
        ({**MIXTURE, "llama.expert_used_count": (ARRAY, (U32, [1, 9]))}, "between 1 and expert_count, 8"),
        ({**MIXTURE, "llama.expert_used_count": (ARRAY, (U32, [0, 0]))}, "between 1 and expert_count, 8"),
        ({**MIXTURE, "llama.expert_count": (U32, 1025)}, "between 0 and 1024"),
        ({**MIXTURE, "llama.expert_group_count": (U32, 8)}, "expert_group_count"),
        ({**MIXTURE, "llama.expert_group_count": (U32, 3)}, "divide it"),
        ({**MIXTURE, "llama.expert_group_count": (U32, 4)}, "expert_group_used_count"),
    ],
)
def test_refuses(metadata: Metadata, message: str) -> None:
    with pytest.raises(BadGGUF, match=message):
        check_usable(header(metadata))


@pytest.mark.parametrize("metadata", [{"general.architecture": (STRING, "llama")}, dict(DENSE)])
def test_refuses_a_file_without_tensors(metadata: Metadata) -> None:
    with pytest.raises(BadGGUF, match="no tensors"):
        check_usable(header(metadata, []))


@pytest.mark.parametrize("offsets", [(0, 160), (128, 0)])
def test_refuses_gaps_and_disorder(offsets: tuple[int, int]) -> None:
    tensors: list[Tensor] = [(f"t{index}", (32,), 0, offset, 128) for index, offset in enumerate(offsets)]
    with pytest.raises(BadGGUF, match="no gaps"):
        check_usable(header(dict(DENSE), tensors))


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        (DENSE, "model"),
        ({"general.type": (STRING, "adapter")}, "adapter"),
        ({"general.type": (STRING, "mmproj")}, "projector"),
        ({"general.type": (STRING, "projector")}, "projector"),
        ({"general.architecture": (STRING, "clip"), "clip.has_vision_encoder": (BOOL, True)}, "projector"),
        ({"general.architecture": (STRING, "clip"), "clip.has_audio_encoder": (BOOL, True)}, "projector"),
        ({"general.architecture": (STRING, "v"), "v.vision.block_count": (U32, 3)}, "projector"),
        ({**DENSE, "llama.vision.block_count": (U32, 3)}, "model"),
    ],
)
def test_kind(metadata: Metadata, kind: str) -> None:
    assert kind_of(header(dict(metadata))) == kind


def test_split_count() -> None:
    assert split_count(header(dict(DENSE))) == 1
    assert split_count(header({**DENSE, "split.count": (U16, 3)})) == 3
    assert split_count(header({**DENSE, "split.count": (U16, 0)})) == 1
