"""What can be told of a model: its details, the metadata of its weights, and its Modelfile.

Values only, in the order in which Ollama has them; a dialect makes JSON of them. Pure: headers are given,
read with their arrays where everything is to be told.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from modelfiles.capabilities import capabilities, chat_template
from modelfiles.gguf import GGUF, ArrayInfo
from modelfiles.gguf.types import UNKNOWN_FILE_TYPE
from modelfiles.messages import Message
from modelfiles.package import Package
from modelfiles.show_text import modelfile_text, parameters_text

# Told elsewhere: as the name, and as the template
_LEFT_OUT = ("general.name", "tokenizer.chat_template")
_FLOAT = struct.Struct("<f")


@dataclass(frozen=True, slots=True)
class Details:
    """The short description. `families` is empty where they are unknown; a length of 0 is unknown too."""

    parent_model: str
    format: str
    family: str
    families: tuple[str, ...]
    parameter_size: str
    quantization_level: str
    context_length: int = 0
    embedding_length: int = 0


@dataclass(frozen=True, slots=True)
class TensorLine:
    """One tensor, its shape in ggml's order."""

    name: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShowInfo:
    """The long description; empty texts and tuples are left out of an answer, `model_info` never is."""

    license: str
    modelfile: str
    parameters: str
    template: str
    system: str
    details: Details
    messages: tuple[Message, ...]
    model_info: Mapping[str, object]
    projector_info: Mapping[str, object]
    tensors: tuple[TensorLine, ...]
    capabilities: tuple[str, ...]
    modified_ns: int
    requires: str
    remote_model: str = ""
    remote_host: str = ""


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """What a request may ask for: another system text, parameters over the stored ones, and long arrays."""

    verbose: bool = False
    system: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


def details(package: Package, gguf: GGUF | None) -> Details:
    """From the config; the lengths from the weights, or for a remote model from the config too."""
    config = package.config
    return Details(
        parent_model=package.parent_model,
        format=config.model_format,
        family=config.model_family,
        families=config.model_families,
        parameter_size=config.model_type,
        quantization_level=config.file_type,
        context_length=(gguf.count("context_length") if gguf else 0) or config.context_length,
        embedding_length=(gguf.count("embedding_length") if gguf else 0) or config.embedding_length,
    )


def show(
    package: Package,
    gguf: GGUF | None,
    projectors: Sequence[GGUF] = (),
    options: ShowOptions | None = None,
    *,
    go_template: bool | None = None,
) -> ShowInfo:
    """Everything about a model. For `verbose`, the headers must have been read with their arrays.

    `go_template` as in `modelfiles.capabilities`.
    """
    options = options or ShowOptions()
    shown = replace(package, system=options.system or package.system)
    config = package.config
    return ShowInfo(
        license="\n".join(package.licenses),
        modelfile=modelfile_text(shown, {**package.parameters, **options.options}),
        parameters=parameters_text(package.parameters),
        template=chat_template(package, gguf, go_template=go_template),
        system=shown.system,
        details=_repaired(details(package, gguf), gguf),
        messages=package.messages,
        model_info=_remote_info(package) if gguf is None else metadata(gguf, verbose=options.verbose),
        projector_info=metadata(projectors[0], verbose=options.verbose) if projectors else {},
        tensors=tuple(TensorLine(item.name, item.type, item.shape) for item in gguf.tensors) if gguf else (),
        capabilities=capabilities(package, gguf, projectors, go_template=go_template),
        modified_ns=package.modified_ns,
        requires=config.requires,
        remote_model=config.remote_model,
        remote_host=config.remote_host,
    )


def metadata(gguf: GGUF, *, verbose: bool = False) -> dict[str, object]:
    """Keys and values of a header, sorted; arrays that are not empty are None unless `verbose`."""
    values = {key: value for key, value in gguf.metadata.items() if key not in _LEFT_OUT}
    values["general.parameter_count"] = gguf.parameter_count
    ordered = sorted(values, key=lambda key: key.encode("utf-8", "replace"))
    return {key: _told(values[key], verbose=verbose) for key in ordered}


def _told(value: object, *, verbose: bool) -> object:
    if isinstance(value, ArrayInfo):
        return None
    if isinstance(value, tuple):
        return [_told(item, verbose=True) for item in value] if verbose or not value else None
    if isinstance(value, float):
        return _single_precision(value) if math.isfinite(value) else None  # JSON knows no infinities
    return value


def _single_precision(value: float) -> float:
    """The number with the fewest digits that means the same as a 32-bit float, which most values are."""
    try:
        packed = _FLOAT.pack(value)
    except OverflowError:
        return value
    if _FLOAT.unpack(packed)[0] != value:
        return value
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((item for item in candidates if _packs_to(item, packed)), value)


def _packs_to(value: float, packed: bytes) -> bool:
    try:
        return _FLOAT.pack(value) == packed
    except OverflowError:  # rounded up beyond the largest 32-bit float
        return False


def _repaired(told: Details, gguf: GGUF | None) -> Details:
    if gguf is None or told.quantization_level not in ("", UNKNOWN_FILE_TYPE):
        return told
    return replace(told, quantization_level=gguf.file_type)


def _remote_info(package: Package) -> dict[str, object]:
    config = package.config
    if not config.remote_model:
        return {}
    info: dict[str, object] = {
        "general.architecture": config.model_family,
        "general.basename": config.base_name,
        f"{config.model_family}.context_length": config.context_length,
        f"{config.model_family}.embedding_length": config.embedding_length,
    }
    return {key: value for key, value in sorted(info.items()) if value}
