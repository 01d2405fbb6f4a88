"""Parameters before they are stored: kinds, aliases, and what a model can do."""

import pytest

from modelfiles.errors import CreateError
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.stored_parameters import checked_parameters, experts_used_fault, fitted_parameters
from tests.modelfiles.gguf.building import ARRAY, DENSE, MIXTURE, U32, gguf


def header(metadata: dict[str, tuple[int, object]]) -> GGUF:
    raw = gguf(metadata)
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


MOE = header(dict(MIXTURE))
PLAIN = header(dict(DENSE))
PER_LAYER = header({**MIXTURE, "llama.expert_used_count": (ARRAY, (U32, [2, 4]))})
LONG = header({**MIXTURE, "llama.expert_used_count": (ARRAY, (U32, [2] * 5000))})


def test_parameters_of_ollama_are_stored_as_they_come() -> None:
    odd = {"temperature": "warm", "stop": "x", "top_k": 1.5, "no_such_thing": [1]}
    assert checked_parameters(odd) == odd


def test_null_is_not_given() -> None:
    assert checked_parameters({"temperature": None, "num_experts_used": None}) == {}


def test_an_alias_is_stored_under_its_true_name() -> None:
    assert checked_parameters({"ctx_size": 4096}) == {"num_ctx": 4096}


def test_ours_get_their_kind() -> None:
    ours = {
        "num_experts_used": 4.0,
        "cache_type_k": "Q8_0",
        "cpu_moe": True,
        "num_cpu_moe": 0,
        "chat_template_kwargs": {"a": 1},
        "tool_call_parser": "qwen3_coder",
    }
    assert checked_parameters(ours) == {**ours, "num_experts_used": 4, "cache_type_k": "q8_0"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_experts_used", "4", "must be of type int, not '4'"),
        ("num_experts_used", 1.5, "must be of type int"),
        ("num_experts_used", True, "must be of type int"),
        ("num_experts_used", 0, "must be at least 1, not 0"),
        ("num_cpu_moe", -1, "must be at least 0"),
        ("ctx_size", "4k", '"ctx_size" must be of type int'),
        ("cpu_moe", 1, "must be of type bool"),
        ("cache_type_v", "q9", "must be one of f32, f16"),
        ("cache_type_k", 8, "must be of type string"),
        ("chat_template_kwargs", [], "must be of type object"),
        ("enable_thinking", "no", "must be of type bool"),
    ],
)
def test_ours_are_refused_with_the_reason(name: str, value: object, message: str) -> None:
    with pytest.raises(CreateError, match=message):
        checked_parameters({name: value})


@pytest.mark.parametrize("used", [1, 2, 8])
def test_any_number_of_experts_that_the_model_has(used: int) -> None:
    assert fitted_parameters({"num_experts_used": used}, MOE) == ({"num_experts_used": used}, ())


@pytest.mark.parametrize(
    ("used", "model", "message"),
    [
        (9, MOE, "num_experts_used 9 cannot be used: it must be a whole number between 1 and 8"),
        (0, MOE, "between 1 and 8"),
        ("2", MOE, "between 1 and 8"),
        (2, PLAIN, "the model is dense, it has no experts"),
        (2, PER_LAYER, "a number of its own for each layer"),
        (2, LONG, "a number of its own for each layer"),
    ],
)
def test_experts_that_the_model_cannot_use(used: object, model: GGUF, message: str) -> None:
    with pytest.raises(CreateError, match=message):
        fitted_parameters({"num_experts_used": used}, model)


def test_a_possible_number_has_no_fault() -> None:
    assert experts_used_fault(8, MOE) == ""


def test_a_true_number_of_experts_is_kept() -> None:
    assert fitted_parameters({"num_experts": 8}, MOE) == ({"num_experts": 8}, ())


def test_a_false_number_of_experts_is_corrected_not_stored() -> None:
    fitted, warnings = fitted_parameters({"num_experts": 128, "seed": 1}, MOE)
    assert fitted == {"seed": 1}
    assert warnings == ("num_experts is 128, but the model has 8 experts; it is not stored",)
    assert fitted_parameters({"num_experts": 8}, PLAIN)[1] == (
        "num_experts is 8, but the model is dense: it has no experts; it is not stored",
    )
