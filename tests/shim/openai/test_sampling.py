"""How OpenAI's fields, and those that other servers added, shape an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from modelfiles.templates.switches import Thinking
from runtime.options import Constraint
from shim.errors import ApiError
from shim.openai.sampling import Structure, reasoning, sampling_options, structure

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_what_is_not_given_is_as_in_ollama() -> None:
    assert sampling_options({}) == {"temperature": 1.0, "top_p": 1.0}


def test_names_of_other_servers() -> None:
    own = {"min_p": 0.1, "top_p": 0.5}
    body = {"top_k": 5.0, "repetition_penalty": 1.1, "stop": ["a", 3], "options": own}
    options = sampling_options(body)
    assert options == {
        "temperature": 1.0, "top_p": 0.5, "min_p": 0.1, "top_k": 5, "repeat_penalty": 1.1, "stop": ["a"],
    }  # fmt: skip
    assert sampling_options({"stop": "x", "logit_bias": {"5": -100}})["logit_bias"] == {"5": -100}


@pytest.mark.parametrize("body", [{"seed": "x"}, {"temperature": True}, {"logit_bias": 3}])
def test_values_of_a_wrong_type_are_the_clients_mistake(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        sampling_options(body)
    assert caught.value.status == 400
    assert next(iter(body)) in caught.value.message


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({}, Structure()),
        ({"response_format": {"type": "text"}}, Structure()),
        ({"response_format": {"type": " JSON_object"}}, Structure('"json"')),
        ({"guided_regex": "a+"}, Structure(constraint=Constraint("regex", "a+"))),
        ({"structured_outputs": {"choice": ["a"]}}, Structure(constraint=Constraint("choice", '["a"]'))),
        ({"grammar": 'root ::= "a"'}, Structure(constraint=Constraint("grammar", 'root ::= "a"'))),
    ],
)
def test_structure(body: dict[str, Any], wanted: Structure) -> None:
    assert structure(body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"guided_json": json.dumps(SCHEMA)},
        {"json_schema": SCHEMA},
        {"structured_outputs": {"json": SCHEMA}},
    ],
)
def test_schemas(body: dict[str, Any]) -> None:
    assert json.loads(structure(body).format) == SCHEMA


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": "json"},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": 3}}},
        {"guided_json": "{"},
        {"guided_choice": []},
        {"guided_regex": 3},
    ],
)
def test_structure_that_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        structure(body)
    assert caught.value.status == 400
    assert next(iter(body)).split("_")[0] in caught.value.message


@pytest.mark.parametrize(
    ("body", "think", "if_able"),
    [
        ({}, None, True),
        ({"reasoning_effort": "none"}, False, False),
        ({"reasoning_effort": "minimal"}, "low", False),
        ({"reasoning": {"effort": "xhigh"}, "reasoning_effort": "low"}, "max", False),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False, True),
        ({"chat_template_kwargs": {"thinking": True}}, True, True),
        ({"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}, False, True),
        ({"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "none"}, False, False),
    ],
)
def test_thinking(body: dict[str, Any], think: Thinking, if_able: bool) -> None:
    found = reasoning(body)
    assert (found.think, found.if_able) == (think, if_able)


def test_variables_reach_the_template() -> None:
    kept = {"clear_thinking": False}
    assert reasoning({"chat_template_kwargs": kept}).variables == kept
