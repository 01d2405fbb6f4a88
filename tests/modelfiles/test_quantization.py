"""What `quantize` may ask for, and what that means for a file."""

import pytest

from modelfiles.errors import QuantizeError
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.gguf.types import FILE_TYPES, TENSOR_TYPES
from modelfiles.quantization import (
    EXPERT_TENSORS,
    QUANTIZE_TYPES,
    Plan,
    Quantization,
    plan_for,
    quantization,
    type_of,
)
from tests.modelfiles.gguf.building import DENSE, U32, Tensor, gguf

F16, Q8_0, Q4_K_M, Q4_K_S = 1, 7, 15, 14  # general.file_type
TYPE_F16, TYPE_Q4_K, TYPE_Q6_K = 1, 12, 14
DIGEST = "sha256:" + "0" * 64


def header(file_type: int, tensor_type: int = TYPE_F16) -> GGUF:
    kind = TENSOR_TYPES[tensor_type]
    nbytes = 256 // kind.block_size * kind.block_bytes
    tensors: list[Tensor] = [("blk.0.ffn_up_exps.weight", (256,), tensor_type, 0, nbytes)]
    raw = gguf({**DENSE, "general.file_type": (U32, file_type)}, tensors)
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


def test_nothing_asked() -> None:
    assert quantization("") is None


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("q4_k_m", "Q4_K_M"), ("Q4_K", "Q4_K_M"), ("q5_k", "Q5_K_M"), ("bf16", "BF16"), ("mxfp4_moe", "MXFP4")],
)
def test_names(asked: str, meant: str) -> None:
    assert quantization(asked) == Quantization(meant)


def test_every_type_has_a_number() -> None:
    assert set(QUANTIZE_TYPES) <= set(FILE_TYPES.values())
    assert len(set(QUANTIZE_TYPES)) == len(QUANTIZE_TYPES)


def test_an_unknown_name_is_refused_in_the_words_of_ollama() -> None:
    with pytest.raises(QuantizeError) as caught:
        quantization("q9")
    assert str(caught.value).startswith(
        "unsupported quantization type Q9 - supported types are F32, F16, Q4_K_S, Q4_K_M, Q8_0"
    )


@pytest.mark.parametrize("name", ["IQ1_S", "iq2_xxs", "IQ2_M", "IQ3_XXS", "IQ3_XS", "Q2_K_S"])
def test_few_bits_need_a_matrix(name: str) -> None:
    with pytest.raises(QuantizeError, match=f"{name.upper()} needs an importance matrix"):
        quantization(name)
    assert quantization(name, importance=DIGEST) == Quantization(name.upper(), (), DIGEST)


def test_tensors_with_few_bits_need_it_too() -> None:
    with pytest.raises(QuantizeError, match="IQ2_S needs an importance matrix"):
        quantization("Q4_K_M", experts="IQ2_M")


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"x": "Q9"}, "unsupported tensor type Q9"),
        ({"(": "Q8_0"}, "is no regular expression"),
        ({"": "Q8_0"}, "must have 1 to 256 characters"),
        ({"a" * 257: "Q8_0"}, "must have 1 to 256 characters"),
        ({str(number): "Q8_0" for number in range(257)}, "at most 256 are accepted"),
    ],
)
def test_tensor_types_that_cannot_be(types: dict[str, str], message: str) -> None:
    with pytest.raises(QuantizeError, match=message):
        quantization("Q8_0", tensor_types=types)


def test_a_file_of_that_type_is_left_alone() -> None:
    assert plan_for(Quantization("F16"), header(F16)) is None
    assert plan_for(Quantization("Q4_K_M"), header(Q4_K_M, TYPE_Q4_K)) is None


def test_a_whole_file() -> None:
    assert plan_for(Quantization("Q4_K_M"), header(F16)) == Plan("Q4_K_M", Q4_K_M, ())


def test_what_is_quantized_needs_leave() -> None:
    with pytest.raises(QuantizeError, match=r"^quantization is only supported for F16, BF16 and F32 models$"):
        plan_for(Quantization("Q8_0"), header(Q4_K_M, TYPE_Q4_K))
    asked = Quantization("Q8_0", allow_requantize=True)
    assert plan_for(asked, header(Q4_K_M, TYPE_Q4_K)) == Plan("Q8_0", Q8_0, ())


def test_what_a_file_says_of_itself_does_not_count() -> None:
    with pytest.raises(QuantizeError, match="only supported for F16"):
        plan_for(Quantization("Q8_0"), header(F16, TYPE_Q4_K))


def test_experts_and_patterns() -> None:
    asked = quantization("Q8_0", experts="q4_k_m", tensor_types={"attn_v": "Q6_K"})
    assert asked is not None
    assert plan_for(asked, header(F16)) == Plan(
        "Q8_0", Q8_0, (("attn_v", TYPE_Q6_K), (EXPERT_TENSORS, TYPE_Q4_K))
    )


def test_only_the_experts() -> None:
    asked = quantization("", experts="Q4_K")
    assert asked is not None
    assert plan_for(asked, header(F16)) == Plan(
        "Q4_K_S", Q4_K_S, ((EXPERT_TENSORS, TYPE_Q4_K), (".", TYPE_F16))
    )


def test_only_the_experts_of_a_file_that_does_not_say_its_type() -> None:
    asked = quantization("", experts="Q4_K", allow_requantize=True)
    assert asked is not None
    plan = plan_for(asked, header(1024))
    assert plan is not None
    assert plan.types == ((EXPERT_TENSORS, TYPE_Q4_K), (".", TYPE_F16))
    with pytest.raises(QuantizeError, match="name a type to quantize to"):
        plan_for(asked, header(1024, TYPE_Q4_K))


def test_the_type_of_a_file() -> None:
    assert type_of(header(Q4_K_M)) == "Q4_K_M"
    assert type_of(header(1024)) == "F16"
