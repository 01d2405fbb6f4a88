"""Every PARAMETER of a Modelfile: its type, default and one line of help, and how its text becomes a value.

The first group is Ollama's own; the second one is ours: control over a mixture of experts, the KV cache, and
how replies are read. Knows nothing of requests or engines: what makes sense for a model is not decided here.
"""

import difflib
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NoReturn

from modelfiles.errors import ParameterError

Type = Literal["int", "float", "bool", "string", "strings", "object"]
Group = Literal["load", "sampling", "reply"]
Value = int | float | bool | str | list[str] | dict[str, object]

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One PARAMETER. `default` is None where the engine or the model decides."""

    name: str
    type: Type
    default: Value | None
    group: Group
    help: str
    alias_of: str | None = None
    ollama: bool = True
    minimum: int | None = None
    choices: tuple[str, ...] = ()


_OLLAMA = (
    Parameter("num_ctx", "int", 4096, "load", "context length in tokens, for each conversation"),
    Parameter("num_batch", "int", 512, "load", "prompt tokens evaluated at once"),
    Parameter("num_gpu", "int", -1, "load", "layers on the GPU; -1 decides by memory, 0 uses the CPU only"),
    Parameter("main_gpu", "int", None, "load", "which GPU holds what is not split"),
    Parameter("use_mmap", "bool", None, "load", "map the file into memory instead of reading it"),
    Parameter("num_thread", "int", 0, "load", "CPU threads; 0 decides by the processor"),
    Parameter("draft_num_predict", "int", None, "load", "tokens that a draft model guesses ahead"),
    Parameter(
        "num_keep", "int", 4, "sampling", "first tokens kept when the context is shifted; -1 keeps all"
    ),
    Parameter("seed", "int", -1, "sampling", "seed of the sampler; -1 is a new one each time"),
    Parameter("num_predict", "int", -1, "sampling", "longest reply in tokens; -1 until the model stops"),
    Parameter("top_k", "int", 40, "sampling", "sample from the K likeliest tokens; 0 switches it off"),
    Parameter("top_p", "float", 0.9, "sampling", "sample from the likeliest tokens that add up to P"),
    Parameter("min_p", "float", 0.0, "sampling", "drop tokens below P times the likeliest one"),
    Parameter("typical_p", "float", 1.0, "sampling", "locally typical sampling; 1 switches it off"),
    Parameter(
        "repeat_last_n", "int", 64, "sampling", "tokens looked back for repeats; 0 off, -1 the context"
    ),
    Parameter("temperature", "float", 0.8, "sampling", "higher is more varied; 0 takes the likeliest token"),
    Parameter("repeat_penalty", "float", 1.0, "sampling", "above 1 makes repeated tokens less likely"),
    Parameter("presence_penalty", "float", 0.0, "sampling", "penalty for tokens that occurred at all"),
    Parameter("frequency_penalty", "float", 0.0, "sampling", "penalty for each time that a token occurred"),
    Parameter("stop", "strings", None, "sampling", "text that ends the reply; may be given several times"),
)
_OURS = (
    Parameter("num_experts_used", "int", None, "load", "experts used for each token (mixture of experts)",
              ollama=False, minimum=1),
    Parameter("num_experts", "int", None, "load", "experts that the file should have; checked, never changed",
              ollama=False, minimum=1),
    Parameter("ctx_size", "int", None, "load", "another name of num_ctx",
              ollama=False, alias_of="num_ctx"),
    Parameter("num_cpu_moe", "int", None, "load", "keep the experts of the first N layers on the CPU",
              ollama=False, minimum=0),
    Parameter("cpu_moe", "bool", False, "load", "keep all experts on the CPU",
              ollama=False),
    Parameter("cache_type_k", "string", "f16", "load", "number format of the KV cache's keys",
              ollama=False, choices=CACHE_TYPES),
    Parameter("cache_type_v", "string", "f16", "load", "number format of the KV cache's values",
              ollama=False, choices=CACHE_TYPES),
    Parameter("flash_attention", "bool", None, "load", "flash attention; the engine decides if unset",
              ollama=False),
    Parameter("tool_call_parser", "string", None, "reply", "how tool calls are read: a name, true or false",
              ollama=False),
    Parameter("reasoning_parser", "string", None, "reply", "how thinking is told from the answer",
              ollama=False),
    Parameter("enable_thinking", "bool", None, "reply", "whether to think when a request does not say",
              ollama=False),
    Parameter("chat_template_kwargs", "object", None, "reply", "JSON object of chat template variables",
              ollama=False),
)  # fmt: skip

# llama.cpp's samplers under its own names.
_SAMPLERS = (
    Parameter("top_n_sigma", "float", -1.0, "sampling", "drop tokens N deviations below the best; -1 off",
              ollama=False),
    Parameter("xtc_probability", "float", 0.0, "sampling", "how often the best tokens are excluded; 0 off",
              ollama=False),
    Parameter("xtc_threshold", "float", 0.1, "sampling", "least probability of tokens that xtc excludes",
              ollama=False),
    Parameter("dynatemp_range", "float", 0.0, "sampling", "how far temperature follows the entropy; 0 off",
              ollama=False),
    Parameter("dynatemp_exponent", "float", 1.0, "sampling", "how the temperature follows the entropy",
              ollama=False),
    Parameter("dry_multiplier", "float", 0.0, "sampling", "penalty for going on with a repetition; 0 off",
              ollama=False),
    Parameter("dry_base", "float", 1.75, "sampling", "how that penalty grows with the repetition's length",
              ollama=False),
    Parameter("dry_allowed_length", "int", 2, "sampling", "tokens that may be repeated without that penalty",
              ollama=False),
    Parameter("dry_penalty_last_n", "int", 64, "sampling", "tokens looked back for that; -1 the context",
              ollama=False),
    Parameter("dry_sequence_breakers", "strings", None, "sampling", "text over which no repetition reaches",
              ollama=False),
    Parameter("adaptive_target", "float", -1.0, "sampling", "choose tokens near this probability; -1 off",
              ollama=False),
    Parameter("adaptive_decay", "float", 0.9, "sampling", "how slowly that choice adapts, 0 to 0.99",
              ollama=False),
    Parameter("min_keep", "int", 0, "sampling", "tokens that top_p, min_p, typical_p and xtc leave at least",
              ollama=False, minimum=0),
    Parameter("samplers", "strings", None, "sampling", "the samplers' names in the order in which they work",
              ollama=False),
    Parameter("ignore_eos", "bool", False, "sampling", "never end the reply by the model's own will",
              ollama=False),
    Parameter("logit_bias", "object", None, "sampling", "JSON object of tokens and what their logits gain",
              ollama=False),
)  # fmt: skip

PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {item.name: item for item in _OLLAMA + _OURS + _SAMPLERS}
)

# Options of a request that a Modelfile cannot give: there, Ollama drops these names.
REQUEST_OPTIONS: Mapping[str, Parameter] = MappingProxyType(
    {
        item.name: item
        for item in (
            Parameter("mirostat", "int", 0, "sampling", "keep the text's surprise constant: 0 off, 1 or 2"),
            Parameter("mirostat_tau", "float", 5.0, "sampling", "the surprise that is aimed at"),
            Parameter("mirostat_eta", "float", 0.1, "sampling", "how fast mirostat adapts"),
        )
    }
)

# Dropped with a warning, whatever their value.
DEPRECATED = frozenset(
    ("penalize_newline", "low_vram", "f16_kv", "logits_all", "vocab_only", "use_mlock",
     "mirostat", "mirostat_tau", "mirostat_eta")
)  # fmt: skip

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A Modelfile prints whole numbers from 2^21 up with an exponent: what is printed must be readable again.
_INT_WITH_EXPONENT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+")
_MAX_INT_DIGITS = 20


def parse_parameter(name: str, text: str) -> Value:
    """Turn the text of a PARAMETER into its value; a `stop` is a list of one. Raises ParameterError."""
    parameter = PARAMETERS.get(name)
    if parameter is None:
        raise ParameterError(f"unknown parameter '{name}'", hint=_suggestion(name))
    return _READERS[parameter.type](parameter, text)


def add_parameter(values: dict[str, Value], name: str, text: str) -> None:
    """Put one PARAMETER into `values`: repeated strings add up, of anything else the last one wins.

    An alias is stored under the name that it stands for. Raises ParameterError.
    """
    value = parse_parameter(name, text)
    key = PARAMETERS[name].alias_of or name
    before = values.get(key)
    values[key] = before + value if isinstance(before, list) and isinstance(value, list) else value


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), PARAMETERS, n=1)
    return f"did you mean {close[0]}?" if close else "known parameters: " + ", ".join(sorted(PARAMETERS))


def _invalid(kind: str, text: str, hint: str) -> ParameterError:
    return ParameterError(f"invalid {kind} value [{text}]", hint=hint)


def _read_int(parameter: Parameter, text: str) -> int:
    value = _whole_number(text)
    if value is None or not -(2**63) <= value < 2**63:
        raise _invalid("int", text, f"{parameter.name} takes a whole number, such as {_example(parameter)}")
    if parameter.minimum is not None and value < parameter.minimum:
        raise _invalid("int", text, f"{parameter.name} must be at least {parameter.minimum}")
    return value


def _example(parameter: Parameter) -> int:
    default = parameter.default
    return default if isinstance(default, int) and default > 0 else parameter.minimum or 8


def _whole_number(text: str) -> int | None:
    if _INT.fullmatch(text) and len(text.lstrip("+-0")) < _MAX_INT_DIGITS:
        return int(text)
    if not _INT_WITH_EXPONENT.fullmatch(text):
        return None
    number = float(text)
    return int(number) if math.isfinite(number) and number.is_integer() else None


def _read_float(parameter: Parameter, text: str) -> float:
    single = _single_precision(float(text)) if _FLOAT.fullmatch(text) else None
    if single is None:
        raise _invalid("float", text, f"{parameter.name} takes a number, such as {parameter.default or 0.5}")
    return single


def _single_precision(number: float) -> float | None:
    """The value with the fewest digits that is the same single-precision number; None if out of range."""
    packed = _packed(number)
    if packed is None:
        return None
    single = struct.unpack("<f", packed)[0]
    shortened = (float(f"{single:.{digits}g}") for digits in range(1, 10))
    return next(value for value in shortened if _packed(value) == packed)


def _packed(number: float) -> bytes | None:
    try:
        return struct.pack("<f", number) if math.isfinite(number) else None
    except OverflowError:
        return None


def _read_bool(parameter: Parameter, text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise _invalid("bool", text, f"{parameter.name} takes true or false")
    return text in _TRUE


def _read_string(parameter: Parameter, text: str) -> str:
    if not parameter.choices:
        return text
    if text.lower() not in parameter.choices:
        raise _invalid("string", text, f"{parameter.name} takes one of: {', '.join(parameter.choices)}")
    return text.lower()


def _read_strings(parameter: Parameter, text: str) -> list[str]:
    return [text]


def _read_object(parameter: Parameter, text: str) -> dict[str, object]:
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _invalid(
            "object", text, f'{parameter.name} takes a JSON object, such as {{"enable_thinking": false}}'
        )
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_READERS: Mapping[Type, Callable[[Parameter, str], Value]] = MappingProxyType(
    {
        "int": _read_int,
        "float": _read_float,
        "bool": _read_bool,
        "string": _read_string,
        "strings": _read_strings,
        "object": _read_object,
    }
)
