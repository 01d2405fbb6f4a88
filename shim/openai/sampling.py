"""How OpenAI's fields shape an answer: sampling, structure, thinking. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import msgspec

from modelfiles.templates.switches import Thinking
from runtime.options import Constraint
from shim.errors import ApiError, bad_request, go_quoted
from shim.gojson import encode
from shim.openai.fields import SAMPLING
from shim.options import read_biases

Body = Mapping[str, object]

_OWN_NAMES = {"repetition_penalty": "repeat_penalty"}
_WHOLE = ("top_k", "seed")
_EFFORTS: Mapping[str, Thinking] = {
    "none": False, "minimal": "low", "low": "low", "medium": "medium", "high": "high",
    "xhigh": "max", "ultra": "max", "max": "max",
}  # fmt: skip
_ACCEPTED = '"minimal", "low", "medium", "high", "xhigh", "ultra", "max", or "none"'
_SWITCHES = ("enable_thinking", "thinking")  # of chat templates


def sampling_options(body: Body) -> dict[str, object]:
    """The options under the names of `modelfiles.parameters`. ApiError for values of a wrong type.

    As in Ollama, temperature and top_p are 1 where the request does not say otherwise.
    """
    options = dict(cast(Body, body.get("options", {})))
    options = {"temperature": 1.0, "top_p": 1.0, **options}
    for name in SAMPLING:
        if name in body:
            options[_OWN_NAMES.get(name, name)] = _READERS.get(name, _number)(name, body[name])
    return options


def _number(name: str, value: object) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_request(f"{name} must be a number")
    if name in _WHOLE:
        return int(value)
    return value


def _stop(name: str, value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str)]


def _biases(name: str, value: object) -> object:
    try:
        read_biases(value)
    except ApiError as error:
        raise bad_request(error.message) from None
    return value


_READERS = {"stop": _stop, "logit_bias": _biases}


@dataclass(frozen=True, slots=True)
class Structure:
    """What an answer must look like: `format` as in the inner request, or a constraint."""

    format: str = ""
    constraint: Constraint | None = None


def structure(body: Body) -> Structure:
    """What `response_format` asks for, or vLLM's and llama.cpp's fields. ApiError."""
    wanted = body.get("response_format")
    if wanted is not None:
        return _response_format(wanted)
    outputs = body.get("structured_outputs")
    given = {f"guided_{name}": value for name, value in outputs.items()} if isinstance(outputs, dict) else {}
    given |= {name: value for name, value in body.items() if name.startswith("guided_")}
    schema = given.get("guided_json", body.get("json_schema"))
    if schema is not None:
        return Structure(format=_schema("guided_json", schema))
    grammar = given.get("guided_grammar", body.get("grammar"))
    if grammar is not None:
        return Structure(constraint=Constraint("grammar", _text("grammar", grammar)))
    if (pattern := given.get("guided_regex")) is not None:
        return Structure(constraint=Constraint("regex", _text("guided_regex", pattern)))
    if (choice := given.get("guided_choice")) is not None:
        return Structure(constraint=Constraint("choice", _choice(choice)))
    return Structure()


def _response_format(wanted: object) -> Structure:
    if not isinstance(wanted, dict):
        raise bad_request("response_format must be an object with a type")
    kind = str(wanted.get("type", "")).strip().lower()
    if kind == "json_object":
        schema = wanted.get("schema")
        return Structure(format=_schema("response_format.schema", schema) if schema else '"json"')
    if kind != "json_schema":
        return Structure()
    inner = wanted.get("json_schema", wanted)
    if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict):
        raise bad_request("response_format.json_schema must have a schema, which is an object")
    return Structure(format=encode(inner["schema"]).decode())


def _schema(name: str, value: object) -> str:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value.encode("utf-8", "replace"))
        except msgspec.DecodeError as error:
            raise bad_request(f"{name} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad_request(f"{name} must be a JSON schema, which is an object")
    return encode(value).decode()


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise bad_request(f"{name} must be a text")
    return value


def _choice(value: object) -> str:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise bad_request("guided_choice must be a list of texts")
    return encode(value).decode()


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Whether to think, and variables for the chat template. `if_able`: a switch that some models lack."""

    think: Thinking = None
    if_able: bool = False
    variables: Mapping[str, object] = field(default_factory=dict)


def reasoning(body: Body) -> Reasoning:
    """What `reasoning`, `reasoning_effort` and `chat_template_kwargs` say. ApiError."""
    nested = body.get("extra_body")
    inner = nested.get("chat_template_kwargs") if isinstance(nested, dict) else None
    variables = body.get("chat_template_kwargs", inner)
    variables = variables if isinstance(variables, dict) else {}
    asked = body.get("reasoning")
    effort = asked.get("effort") if isinstance(asked, dict) else None
    think = effort_of(effort or body.get("reasoning_effort"))
    if think is not None:
        return Reasoning(think, variables=variables)
    switch = next((variables[name] for name in _SWITCHES if isinstance(variables.get(name), bool)), None)
    return Reasoning(bool(switch) if switch is not None else None, if_able=True, variables=variables)


def effort_of(effort: object) -> Thinking:
    """How much to think. ApiError."""
    if effort is None or effort == "":
        return None
    if not isinstance(effort, str) or effort not in _EFFORTS:
        raise bad_request(f"invalid reasoning value: {go_quoted(str(effort))} (must be {_ACCEPTED})")
    return _EFFORTS[effort]
