"""A create request: its fields, the checks that need no store, and the values that become small layers.

Texts of refusals are those that clients of Ollama know, where Ollama has one. Pure.
"""

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from modelfiles.encoding import json_line, sorted_mapping
from modelfiles.errors import CreateError, InvalidDigest, InvalidName
from modelfiles.gguf import GGUF
from modelfiles.messages import Message
from modelfiles.names import parse_digest, parse_name
from modelfiles.package import LAYER_TYPE, Config, Layer
from modelfiles.semver import is_version

_TEXT_OVERRIDES = {
    "model_family": "model_family",
    "base_name": "base_name",
    "quantization_level": "file_type",
    "parameter_size": "model_type",
}
# What Ollama calls the way these families write prompts and answers, and where their turns end
_SPEECH_OF_FAMILIES = {
    "gemma4": "gemma4",
    "laguna": "laguna",
    "nemotron_h": "nemotron-3-nano",
    "nemotron_h_moe": "nemotron-3-nano",
    "nemotron_h_omni": "nemotron-3-nano",
}
_STOPS_OF_FAMILIES = {"gemma4": ("<turn|>",)}
_NUMBER_OVERRIDES = ("context_length", "embedding_length")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest:
    """What a client asks for. `files` maps the names that files have at the client to digests of blobs.

    The last four are ours, see `modelfiles.quantization`; `imatrix` is the digest of a blob.
    """

    model: str
    from_: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    adapters: Mapping[str, str] = field(default_factory=dict)
    draft_files: Mapping[str, str] = field(default_factory=dict)
    template: str = ""
    system: str = ""
    licenses: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    renderer: str = ""
    parser: str = ""
    requires: str = ""
    info: Mapping[str, object] = field(default_factory=dict)
    remote_host: str = ""
    quantize: str = ""
    draft_quantize: str = ""
    quantize_experts: str = ""
    tensor_types: Mapping[str, str] = field(default_factory=dict)
    imatrix: str = ""
    allow_requantize: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """One item of the stream that tells how far a request is. Counts are bytes; empty values are left out."""

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0


@dataclass(frozen=True, slots=True)
class Content:
    """A small layer that is to be written: its kind and its bytes."""

    kind: str
    data: bytes

    @property
    def media_type(self) -> str:
        return LAYER_TYPE + self.kind

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.data).hexdigest()


def check_request(request: CreateRequest) -> None:
    """The checks whose failure is answered before any progress is reported. Raises CreateError, `early`."""
    for files in (request.files, request.draft_files, request.adapters):
        for path, digest in files.items():
            if not _is_relative(path):
                raise CreateError("file path must be relative", early=True)
            _check_digest(digest)
    if request.imatrix:
        _check_digest(request.imatrix)
    if request.draft_quantize and not request.draft_files:
        raise CreateError("--draft-quantize requires a DRAFT model", early=True)
    try:
        parse_name(request.model)
    except InvalidName as error:
        raise CreateError("invalid model name", early=True) from error
    if request.requires and not is_version(request.requires):
        raise CreateError("requires must be a valid semver (e.g. 0.14.0)", early=True)


def small_layers(
    request: CreateRequest, inherited: Sequence[Layer], parameters: Mapping[str, object]
) -> tuple[list[Layer], list[Content]]:
    """Inherited layers that stay, and what comes behind them. `parameters` are the merged ones."""
    replaced = {"params"}
    contents: list[Content] = []
    if request.template:
        replaced |= {"template", "prompt"}
        contents.append(Content("template", _utf8(request.template)))
    if request.system:
        replaced.add("system")
        contents.append(Content("system", _utf8(request.system)))
    contents += [Content("license", _utf8(text)) for text in request.licenses if text]
    if parameters:
        contents.append(Content("params", json_line(sorted_mapping(parameters))))
    if request.messages:
        replaced.add("messages")
        contents.append(Content("messages", json_line(list(map(_message_json, request.messages)))))
    return [layer for layer in inherited if layer.kind not in replaced], contents


def make_config(request: CreateRequest, inherited: Config, headers: Sequence[GGUF]) -> Config:
    """The config of the new model. `headers` are those of its GGUF layers, the model's own first."""
    config = _with_overrides(
        Config(
            model_format=inherited.model_format,
            renderer=request.renderer or inherited.renderer,
            parser=request.parser or inherited.parser,
            requires=request.requires.removeprefix("v") or inherited.requires,
            remote_host=inherited.remote_host,
            remote_model=inherited.remote_model,
            capabilities=inherited.capabilities,
        ),
        request.info,
    )
    if not headers:
        return config
    first = headers[0]
    speech = _SPEECH_OF_FAMILIES.get(first.architecture, "")
    return replace(
        config,
        model_format=config.model_format or "gguf",
        model_family=config.model_family or first.architecture,
        model_families=tuple(header.architecture for header in headers),
        model_type=config.model_type or human_number(first.parameter_count),
        file_type=config.file_type or first.file_type,
        renderer=config.renderer or speech,
        parser=config.parser or speech,
    )


def family_defaults(headers: Sequence[GGUF], parameters: Mapping[str, object]) -> dict[str, object]:
    """Parameters that weights of this family get where nothing is said."""
    stops = _STOPS_OF_FAMILIES.get(headers[0].architecture) if headers else None
    return {"stop": list(stops)} if stops and "stop" not in parameters else {}


def human_number(count: int) -> str:
    """A number of parameters as people say it: `7.2B`, `8B`, `22.57M`, `12K`, `999`."""
    for unit, letter, digits in ((10**9, "B", 1), (10**6, "M", 2)):
        if count >= unit:
            return f"{count // unit}{letter}" if count % unit == 0 else f"{count / unit:.{digits}f}{letter}"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)


def _with_overrides(config: Config, info: Mapping[str, object]) -> Config:
    values: dict[str, str] = {}
    for key, target in _TEXT_OVERRIDES.items():
        value = info.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            raise CreateError(f'info field "{key}" must be a string')
        values[target] = value
    counts = {key: _count(key, info[key]) for key in _NUMBER_OVERRIDES if info.get(key) is not None}
    added = info.get("capabilities") or []
    if not isinstance(added, list) or not all(isinstance(item, str) for item in added):
        raise CreateError('info field "capabilities" must be an array of strings')
    capabilities = tuple(dict.fromkeys((*config.capabilities, *added)))
    return replace(config, capabilities=capabilities, **values, **counts)  # type: ignore[arg-type]


def _count(key: str, value: object) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise CreateError(f'info field "{key}" must be a number')
    if not math.isfinite(value) or value < 0 or value != int(value):
        raise CreateError(f'info field "{key}" must be a non-negative integer')
    return int(value)


def _check_digest(digest: str) -> None:
    try:
        parse_digest(digest)
    except InvalidDigest as error:
        raise CreateError(str(error), early=True) from error


def _is_relative(path: str) -> bool:
    """Whether a path has only names in it, each a step down; a single dot is the folder itself."""
    return path == "." or all(part not in ("", ".", "..") for part in path.split("/"))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _message_json(message: Message) -> dict[str, object]:
    content: dict[str, object] = {"role": message.role, "content": message.content}
    if message.thinking:
        content["thinking"] = message.thinking
    if message.images:
        content["images"] = [base64.b64encode(image).decode() for image in message.images]
    return content
