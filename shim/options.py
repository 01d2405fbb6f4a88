"""From many sources of options to the ones that count: defaults < environment < model parameters < request.

Types and limits come from `modelfiles.parameters`; the texts of what does not fit are Ollama's, and so is
their odd status (500). Pure: what was ignored is returned, for the caller to log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from modelfiles.parameters import DEPRECATED, PARAMETERS, REQUEST_OPTIONS, Parameter
from runtime.options import LoadOptions, SamplingOptions
from shim.errors import go_quoted, server_error

SMALLEST_CONTEXT = 4
_INT32_LARGEST = 2**31 - 1
_POSITIVE = frozenset(("num_batch", "num_thread"))  # whose zero and negative values mean the default
_RANDOM_SEED = 2**32 - 1  # what the engine takes for "no seed given", so no client's seed may become it

Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OptionDefaults:
    """What holds where neither model nor request says anything. `num_ctx` in tokens of one slot."""

    num_ctx: int = 4096
    num_parallel: int = 1
    flash_attention: bool | None = None
    cache_type: str = "f16"


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """How a reply is read and how the prompt's template is told to behave; None leaves it to the model."""

    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    enable_thinking: bool | None = None
    chat_template_kwargs: Values = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Merged:
    """Options of one request.

    `explicit` names the load options that model or request gave, `requested` those that the request itself
    gave; `ignored` the unknown and deprecated keys of the request.
    """

    load: LoadOptions
    sampling: SamplingOptions
    reply: ReplyOptions
    explicit: frozenset[str]
    requested: frozenset[str]
    ignored: tuple[str, ...]


def merge(defaults: OptionDefaults, parameters: Values, request: Values) -> Merged:
    """The options of a request on a model with these parameters. ApiError for a value of the wrong type."""
    from_model = _checked(parameters, PARAMETERS)
    from_request = _checked(request, _OF_REQUESTS)
    given = from_model | from_request
    load_names = given.keys() & set(LoadOptions.__struct_fields__)
    return Merged(
        load=_load_options(defaults, given),
        sampling=_sampling_options(given),
        reply=_reply_options(given),
        explicit=frozenset(load_names),
        requested=frozenset(load_names & from_request.keys()),
        ignored=tuple(name for name in request if name not in _OF_REQUESTS),
    )


def deprecated(name: str) -> bool:
    """Whether an ignored option was one of Ollama's once, which deserves no warning."""
    return name in DEPRECATED


_OF_REQUESTS: Mapping[str, Parameter] = MappingProxyType({**PARAMETERS, **REQUEST_OPTIONS})


def _checked(values: Values, known: Mapping[str, Parameter]) -> dict[str, object]:
    """Known options with values of the right type under their own names; an alias gives way to the name."""
    checked: dict[str, object] = {}
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is None or _is_absent(value):
            continue
        target = parameter.alias_of or name
        if target == name or target not in values:
            checked[target] = _limited(parameter, _READERS[parameter.type](name, value))
    return checked


def _is_absent(value: object) -> bool:
    """Clients send null and empty values for what their user left open."""
    return value is None or (isinstance(value, str | list | dict) and not value)


def _read_int(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise server_error(f"option {go_quoted(name)} must be of type integer")
    return int(value)


def _read_float(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise server_error(f"option {go_quoted(name)} must be of type float32")
    try:
        return float(value)
    except OverflowError:
        raise server_error(f"option {go_quoted(name)} must be of type float32") from None


def _read_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise server_error(f"option {go_quoted(name)} must be of type boolean")
    return value


def _read_string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise server_error(f"option {go_quoted(name)} must be of type string")
    return value


def _read_strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise server_error(f"option {go_quoted(name)} must be of type array")
    strings = tuple(item for item in value if isinstance(item, str))
    if len(strings) < len(value):
        raise server_error(f"option {go_quoted(name)} must be of an array of strings")
    return tuple(item for item in strings if item)  # an empty stop would stop at once


def _read_object(name: str, value: object) -> object:
    if name == "logit_bias":
        return read_biases(value)
    if not isinstance(value, dict):
        raise server_error(f"option {go_quoted(name)} must be of type object")
    return value


def read_biases(value: object) -> tuple[tuple[int | str, float], ...]:
    """`logit_bias` as llama.cpp takes it: an object, or a list of pairs, of tokens and numbers.

    A token is an id or a text; in an object a text of digits is an id. `false` bars a token. ApiError.
    """
    if isinstance(value, Mapping):
        pairs: list[tuple[Any, Any]] = [(_token_key(key), bias) for key, bias in value.items()]
    elif isinstance(value, list | tuple) and all(map(_is_pair, value)):
        pairs = [(key, bias) for key, bias in value]
    else:
        raise server_error('option "logit_bias" must be of type object')
    for key, bias in pairs:
        if isinstance(key, bool) or not isinstance(key, int | str) or bias is True:
            raise server_error('option "logit_bias" must map tokens to numbers or false')
    return tuple(
        (key, -math.inf if bias is False else _read_float("logit_bias", bias)) for key, bias in pairs
    )


def _is_pair(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2


def _token_key(key: str) -> int | str:
    return int(key) if key.isascii() and key.isdecimal() and len(key) < _MOST_DIGITS else key


_MOST_DIGITS = 10  # of a token id, which is a C int

_READERS: Mapping[str, Callable[[str, object], object]] = MappingProxyType(
    {
        "int": _read_int,
        "float": _read_float,
        "bool": _read_bool,
        "string": _read_string,
        "strings": _read_strings,
        "object": _read_object,
    }
)


def _limited(parameter: Parameter, value: object) -> object:
    """The value within what its parameter allows. ApiError for a choice or minimum of ours that is missed."""
    name = go_quoted(parameter.name)
    if parameter.choices and isinstance(value, str) and value.lower() not in parameter.choices:
        raise server_error(f"option {name} must be one of {', '.join(parameter.choices)}")
    if isinstance(value, bool) or not isinstance(value, int):
        return value.lower() if parameter.choices and isinstance(value, str) else value
    if parameter.minimum is not None and value < parameter.minimum:
        raise server_error(f"option {name} must be at least {parameter.minimum}")
    if parameter.name in _POSITIVE and value <= 0:
        return parameter.default
    if parameter.name == "seed":
        return value if -1 <= value < _RANDOM_SEED else value % _RANDOM_SEED
    return max(-_INT32_LARGEST, min(value, _INT32_LARGEST))


def _load_options(defaults: OptionDefaults, given: Values) -> LoadOptions:
    fields = {name: given[name] for name in LoadOptions.__struct_fields__ if name in given}
    values: dict[str, object] = {
        "num_parallel": defaults.num_parallel,
        "flash_attention": defaults.flash_attention,
        "cache_type_k": defaults.cache_type,
        "cache_type_v": defaults.cache_type,
        **fields,
        "num_ctx": _context(given.get("num_ctx"), defaults.num_ctx),
    }
    return LoadOptions(**values)  # type: ignore[arg-type]  # each value was checked against its type


def _context(asked: object, default: int) -> int:
    """At least four tokens, as in Ollama; zero and less mean that the server decides."""
    return max(asked, SMALLEST_CONTEXT) if isinstance(asked, int) and asked > 0 else default


def _sampling_options(given: Values) -> SamplingOptions:
    fields = {name: given[name] for name in SamplingOptions.__struct_fields__ if name in given}
    if "samplers" in fields:  # also in one text, as llama.cpp's command line takes them
        fields["samplers"] = tuple(
            part for text in fields["samplers"] for part in text.split(";") if part  # type: ignore[attr-defined]
        )
    return SamplingOptions(**fields)  # type: ignore[arg-type]  # each value was checked against its type


def _reply_options(given: Values) -> ReplyOptions:
    fields = {name: value for name, value in given.items() if _OF_REQUESTS[name].group == "reply"}
    return ReplyOptions(**fields)  # type: ignore[arg-type]  # each value was checked against its type
