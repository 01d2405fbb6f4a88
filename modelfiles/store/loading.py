"""A package from its manifest: the small blobs are read, the large ones only located.

Raises StoreError and BlobNotFound for a package that cannot be put together.
"""

import hashlib
import json
from collections.abc import Iterable

from modelfiles.errors import StoreError
from modelfiles.messages import Message
from modelfiles.names import Name
from modelfiles.package import (
    Layer,
    Manifest,
    Package,
    json_object,
    parse_config,
    parse_manifest,
    weight_layers,
)
from modelfiles.store.blobs import Blobs
from modelfiles.store.manifests import ManifestFile


def load_package(name: Name, file: ManifestFile, blobs: Blobs) -> Package:
    manifest = parse_manifest(file.data)
    weights = weight_layers(manifest.layers)
    templates = manifest.of_kind("template", "prompt")
    systems = manifest.of_kind("system")
    return Package(
        name=name,
        digest=hashlib.sha256(file.data).hexdigest(),
        size=manifest.size,
        modified_ns=file.modified_ns,
        config=parse_config(blobs.read_small(manifest.config.digest)),
        model_path=blobs.path(weights[0].digest) if weights else None,
        model_digest=weights[0].digest if weights else "",
        model_parts=tuple(blobs.path(layer.digest) for layer in weights[1:]),
        projectors=tuple(blobs.path(layer.digest) for layer in manifest.of_kind("projector")),
        adapters=tuple(blobs.path(layer.digest) for layer in manifest.of_kind("adapter")),
        drafts=tuple(blobs.path(layer.digest) for layer in weight_layers(manifest.layers, "draft")),
        template=_text(templates[-1], blobs) if templates else None,
        system=_text(systems[-1], blobs) if systems else "",
        parameters=load_parameters(manifest, blobs),
        messages=_messages(manifest.of_kind("messages"), blobs),
        licenses=tuple(_text(layer, blobs) for layer in manifest.of_kind("license")),
        parent_model=weights[0].from_ if weights else "",
        layers=manifest.layers,
    )


def load_parameters(manifest: Manifest, blobs: Blobs) -> dict[str, object]:
    """The parameters of all params layers; later ones win."""
    merged: dict[str, object] = {}
    for layer in manifest.of_kind("params"):
        merged |= json_object(blobs.read_small(layer.digest), "the params layer")
    return merged


def _text(layer: Layer, blobs: Blobs) -> str:
    return blobs.read_small(layer.digest).decode("utf-8", "replace")


def _messages(layers: Iterable[Layer], blobs: Blobs) -> tuple[Message, ...]:
    return tuple(message for layer in layers for message in _read_messages(blobs.read_small(layer.digest)))


def _read_messages(data: bytes) -> list[Message]:
    try:
        content = json.loads(data) or []
        return [
            Message(str(item["role"]), str(item.get("content") or ""), str(item.get("thinking") or ""))
            for item in content
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(f"the messages layer is damaged: {error}") from error
