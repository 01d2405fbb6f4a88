"""A model in the store: manifest and config as values, their bytes, and the package that is made of both.

The shapes are Ollama's, so that either program runs what the other one made: keys in its order, unknown keys
ignored. Pure: files are read and written in `modelfiles.store`. Raises StoreError for what cannot be read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from modelfiles.encoding import json_line
from modelfiles.errors import InvalidDigest, StoreError
from modelfiles.gguf.split import is_part_name
from modelfiles.messages import Message
from modelfiles.names import Name, parse_digest

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG_TYPE = "application/vnd.docker.container.image.v1+json"
LAYER_TYPE = "application/vnd.ollama.image."

_LISTS = ("model_families", "capabilities")
_COUNTS = ("context_length", "embedding_length")
# Ollama writes these even when they are empty
_ALWAYS = ("model_format", "model_family", "model_families", "model_type", "file_type", "architecture", "os")


@dataclass(frozen=True, slots=True)
class Layer:
    """One blob of a model and what it is for. `digest` is `sha256:<hex>`."""

    media_type: str
    digest: str
    size: int
    from_: str = ""
    name: str = ""

    @property
    def kind(self) -> str:
        """The last part of Ollama's media types: `model`, `params`, …; the whole type of any other."""
        return self.media_type.removeprefix(LAYER_TYPE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a name stands for."""

    config: Layer
    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        """Bytes of all blobs."""
        return self.config.size + sum(layer.size for layer in self.layers)

    @property
    def digests(self) -> tuple[str, ...]:
        """Of all blobs, the config's first."""
        return (self.config.digest, *(layer.digest for layer in self.layers))

    def of_kind(self, *kinds: str) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.kind in kinds)


@dataclass(frozen=True, slots=True)
class Config:
    """The config blob, in the order in which its keys are written. `architecture` and `os` never vary."""

    model_format: str = ""
    model_family: str = ""
    model_families: tuple[str, ...] = ()
    model_type: str = ""
    file_type: str = ""
    renderer: str = ""
    parser: str = ""
    requires: str = ""
    remote_host: str = ""
    remote_model: str = ""
    capabilities: tuple[str, ...] = ()
    context_length: int = 0
    embedding_length: int = 0
    base_name: str = ""
    draft: Mapping[str, object] = field(default_factory=dict)
    architecture: str = "amd64"
    os: str = "linux"


@dataclass(frozen=True, slots=True)
class Package:
    """A model, ready to be run or described. `digest` is that of the manifest, 64 hex digits.

    `template` is the Go template of a template layer; None where the weights' own chat template counts.
    `model_path` is None for a package without GGUF weights, such as a stub of a remote model. Of a split
    model it is the first part; `model_parts` holds the others, and `model_digests` is of all, in order.
    """

    name: Name
    digest: str
    size: int
    modified_ns: int
    config: Config
    model_path: Path | None
    model_digest: str = ""
    model_parts: tuple[Path, ...] = ()
    projectors: tuple[Path, ...] = ()
    adapters: tuple[Path, ...] = ()
    drafts: tuple[Path, ...] = ()
    template: str | None = None
    system: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    licenses: tuple[str, ...] = ()
    parent_model: str = ""
    layers: tuple[Layer, ...] = ()

    @property
    def model_paths(self) -> tuple[Path, ...]:
        """Of all parts, in order; empty for a package without weights."""
        return () if self.model_path is None else (self.model_path, *self.model_parts)

    @property
    def model_digests(self) -> tuple[str, ...]:
        """Of all parts, in order."""
        return tuple(layer.digest for layer in weight_layers(self.layers)) or (
            (self.model_digest,) if self.model_digest else ()
        )

    @property
    def modified(self) -> datetime:
        """When the manifest was written, in UTC; `modified_ns` is exact."""
        return datetime.fromtimestamp(self.modified_ns / 1e9, UTC)


def weight_layers(layers: Iterable[Layer], kind: str = "model") -> tuple[Layer, ...]:
    """The layers that hold the weights: the parts of a split model, which have names, else the last one."""
    found = [layer for layer in layers if layer.kind == kind]
    parts = [layer for layer in found if is_part_name(layer.name)]
    return tuple(sorted(parts, key=lambda layer: layer.name)) or tuple(found[-1:])


def parse_manifest(data: bytes) -> Manifest:
    content = json_object(data, "the manifest")
    layers = content.get("layers")
    layers = [] if layers is None else layers
    if not isinstance(layers, list):
        raise StoreError("the manifest is damaged: layers is no list")
    return Manifest(_layer(content.get("config")), tuple(map(_layer, layers)))


def encode_manifest(manifest: Manifest) -> bytes:
    return json_line(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _layer_json(manifest.config),
            "layers": [_layer_json(layer) for layer in manifest.layers],
        }
    )


def parse_config(data: bytes) -> Config:
    content = json_object(data, "the config")
    known = {item.name for item in fields(Config)}
    values = {key: value for key, value in content.items() if key in known and value is not None}
    return Config(**{key: _checked(key, value) for key, value in values.items()})


def encode_config(config: Config) -> bytes:
    values = {item.name: getattr(config, item.name) for item in fields(config)}
    written = {key: value for key, value in values.items() if value or key in _ALWAYS}
    return json_line({**written, "model_families": list(config.model_families) or None})


def json_object(data: bytes, what: str) -> dict[str, object]:
    """The JSON object that `data` is; `what` names it in the error."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{what} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise StoreError(f"{what} is damaged: it is no JSON object")
    return content


def _layer(value: object) -> Layer:
    if not isinstance(value, dict):
        raise StoreError("the manifest is damaged: a layer is no object")
    texts = {key: value.get(key) or "" for key in ("mediaType", "digest", "from", "name")}
    size = value.get("size") or 0
    if not all(isinstance(text, str) for text in texts.values()) or not _is_count(size):
        raise StoreError("the manifest is damaged: a layer has a value of the wrong kind")
    try:
        digest = parse_digest(texts["digest"])
    except InvalidDigest as error:
        raise StoreError(f"the manifest is damaged: {texts['digest']!r:.90} is no digest") from error
    return Layer(texts["mediaType"], digest, size, texts["from"], texts["name"])


def _layer_json(layer: Layer) -> dict[str, object]:
    content: dict[str, object] = {"mediaType": layer.media_type, "digest": layer.digest, "size": layer.size}
    return content | {key: text for key, text in (("from", layer.from_), ("name", layer.name)) if text}


def _checked(key: str, value: object) -> Any:
    """The value of a config key, in the type that `Config` has."""
    if key in _LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if key in _COUNTS and _is_count(value):
        return value
    if key == "draft" and isinstance(value, dict):
        return value
    if key not in (*_LISTS, *_COUNTS, "draft") and isinstance(value, str):
        return value
    raise StoreError(f"the config is damaged: {key} is {value!r:.80}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
