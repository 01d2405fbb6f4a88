"""Puts small models into a store by hand, as another program would have done."""

import json

from modelfiles.names import parse_name
from modelfiles.package import (
    CONFIG_TYPE,
    LAYER_TYPE,
    Config,
    Layer,
    Manifest,
    encode_config,
    encode_manifest,
)
from modelfiles.store import Store


def blob(store: Store, kind: str, data: bytes, from_: str = "") -> Layer:
    return Layer(LAYER_TYPE + kind, store.write_blob([data]), len(data), from_)


def manifest_of(store: Store, *layers: Layer, config: Config | None = None) -> Manifest:
    data = encode_config(config or Config("gguf", "llama", ("llama",), "1K", "F32"))
    return Manifest(Layer(CONFIG_TYPE, store.write_blob([data]), len(data)), layers)


def pack(store: Store, name: str, *layers: Layer, config: Config | None = None) -> Manifest:
    """Name a model made of these layers."""
    manifest = manifest_of(store, *layers, config=config)
    store.write_manifest(store.resolve(parse_name(name)), encode_manifest(manifest))
    return manifest


def params(store: Store, **values: object) -> Layer:
    return blob(store, "params", json.dumps(values).encode())
