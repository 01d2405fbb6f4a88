"""What `quantize` may ask for: names of types, their numbers, and which tensors get which. Pure.

Numbers and names are those of llama.cpp: `general.file_type` for files, tensor types for tensors. A file type
such as Q4_K_M is a mixture: llama.cpp gives some tensors more bits than others. Raises QuantizeError.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from modelfiles.errors import QuantizeError, TensorTypesRefused
from modelfiles.gguf import GGUF
from modelfiles.gguf.types import FILE_TYPES, TENSOR_TYPES, UNKNOWN_FILE_TYPE

# Ollama's own first, in its order: programs look at the beginning of the refusal
_OLLAMA_TYPES = ("F32", "F16", "Q4_K_S", "Q4_K_M", "Q8_0")
_OTHER_TYPES = (
    "BF16", "Q2_K", "Q2_K_S", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q5_K_S",
    "Q5_K_M", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "IQ3_S",
    "IQ3_M", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4",
)  # fmt: skip
QUANTIZE_TYPES = (*_OLLAMA_TYPES, *_OTHER_TYPES)
_ALIASES = {"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M", "MXFP4_MOE": "MXFP4"}
_FLOATS = ("F32", "F16", "BF16")
_PLAIN = (*_FLOATS, "F64", "I8", "I16", "I32", "I64")
# With these, llama.cpp puts some tensors into types that are garbage without an importance matrix
_NEED_IMPORTANCE = (
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "Q2_K_S",
)  # fmt: skip
_TENSORS_NEED_IMPORTANCE = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS")
_TENSOR_TYPES = (
    "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0",
    "MXFP4",
)  # fmt: skip
# Of a mixture, the type of most of its tensors
_MOST_OF = {f"Q{bits}_K_{size}": f"Q{bits}_K" for bits in (2, 3, 4, 5) for size in "SML"} | {
    "IQ3_XS": "IQ3_S",
    "IQ3_M": "IQ3_S",
    "IQ2_M": "IQ2_S",
}
_PUREST = {"Q3_K": "Q3_K_S", "Q4_K": "Q4_K_S", "Q5_K": "Q5_K_S"}
EXPERT_TENSORS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
_MOST_PATTERNS, _LONGEST_PATTERN = 256, 256
_FILE_NUMBERS: Mapping[str, int] = {name: number for number, name in FILE_TYPES.items()}
_TENSOR_NUMBERS: Mapping[str, int] = {kind.name: number for number, kind in TENSOR_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Quantization:
    """What is asked for. `name` is a file type, empty where only some tensors are to change.

    `types` holds regular expressions of tensor names with the name of a tensor type each. `importance` is
    the digest of an importance matrix, or empty.
    """

    name: str
    types: tuple[tuple[str, str], ...] = ()
    importance: str = ""
    allow_requantize: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The same for one file, in numbers. `shown` is the name of the file type that comes out."""

    shown: str
    file_type: int
    types: tuple[tuple[str, int], ...]


def quantization(
    name: str,
    *,
    experts: str = "",
    tensor_types: Mapping[str, str] | None = None,
    importance: str = "",
    allow_requantize: bool = False,
) -> Quantization | None:
    """What a request asks for, None if nothing. `experts` is the type of all expert tensors."""
    types = [(pattern, _tensor_type(kind)) for pattern, kind in (tensor_types or {}).items()]
    if experts:
        types.append((EXPERT_TENSORS, _tensor_type(experts)))
    if not name and not types:
        return None
    _check_patterns([pattern for pattern, _ in types])
    asked = _file_type(name) if name else ""
    if not importance:
        _check_works_alone(asked, [kind for _, kind in types])
    return Quantization(asked, tuple(types), importance, allow_requantize)


def plan_for(asked: Quantization, source: GGUF) -> Plan | None:
    """What to do with this file; None where it is of the type already. QuantizeError for one that may not."""
    quantized = sorted({tensor.type for tensor in source.tensors} - set(_PLAIN))
    if asked.name == source.file_type and not asked.types:
        return None
    if quantized and not asked.allow_requantize:
        raise QuantizeError("quantization is only supported for F16, BF16 and F32 models")
    shown = asked.name or type_of(source)
    if shown not in _FILE_NUMBERS:
        raise QuantizeError(f"the file does not say its type ({shown}); name a type to quantize to")
    types = tuple((pattern, _TENSOR_NUMBERS[kind]) for pattern, kind in asked.types)
    if types and shown in _FLOATS:
        # llama.cpp heeds patterns only where the file's type is quantized: so the rest is named as well
        mostly = _file_type_of(asked.types)
        return Plan(mostly, _FILE_NUMBERS[mostly], (*types, (".", _TENSOR_NUMBERS[shown])))
    return Plan(shown, _FILE_NUMBERS[shown], types)


def type_of(source: GGUF) -> str:
    """The file type that a file says it has; if it says none, the tensor type of most of its bytes."""
    if source.file_type != UNKNOWN_FILE_TYPE:
        return source.file_type
    sizes: Counter[str] = Counter()
    for tensor in source.tensors:
        sizes[tensor.type] += tensor.nbytes
    return sizes.most_common(1)[0][0] if sizes else UNKNOWN_FILE_TYPE


def _file_type_of(types: Iterable[tuple[str, str]]) -> str:
    """The file type of which these tensors are, with the fewest exceptions; Q8_0 if none is quantized."""
    quantized = [kind for _, kind in types if kind not in _FLOATS]
    return next((_PUREST.get(kind, kind) for kind in quantized), "Q8_0")


def _check_works_alone(file_type: str, tensor_types: list[str]) -> None:
    demanding = [kind for kind in tensor_types if kind in _TENSORS_NEED_IMPORTANCE]
    for kind in [file_type] if file_type in _NEED_IMPORTANCE else demanding:
        raise TensorTypesRefused(
            f"{kind} needs an importance matrix, without which its output would be garbage; give the file "
            "that llama-imatrix makes as imatrix, or choose IQ3_S, IQ4_XS or a K-quant"
        )


def _file_type(name: str) -> str:
    upper = name.upper()
    found = _ALIASES.get(upper, upper)
    if found not in QUANTIZE_TYPES:
        known = ", ".join(QUANTIZE_TYPES)
        raise QuantizeError(f"unsupported quantization type {upper} - supported types are {known}")
    return found


def _tensor_type(name: str) -> str:
    upper = _MOST_OF.get(name.upper(), name.upper())
    if upper not in _TENSOR_TYPES:
        known = ", ".join(_TENSOR_TYPES)
        raise TensorTypesRefused(f"unsupported tensor type {name.upper()} - supported types are {known}")
    return upper


def _check_patterns(patterns: list[str]) -> None:
    if len(patterns) > _MOST_PATTERNS:
        raise TensorTypesRefused(f"{len(patterns)} tensor patterns; at most {_MOST_PATTERNS} are accepted")
    for pattern in patterns:
        if not pattern or len(pattern) > _LONGEST_PATTERN or "\0" in pattern:
            raise TensorTypesRefused(
                f"the pattern {pattern!r:.80} must have 1 to {_LONGEST_PATTERN} characters"
            )
        try:
            re.compile(pattern)
        except re.error as error:
            raise TensorTypesRefused(
                f"the pattern {pattern!r:.80} is no regular expression: {error}"
            ) from error
