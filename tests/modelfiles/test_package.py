"""Manifests and configs: the bytes that are written, and what is read from bytes of others."""

import hashlib
import json

import pytest

from modelfiles.errors import StoreError
from modelfiles.package import (
    CONFIG_TYPE,
    LAYER_TYPE,
    Config,
    Layer,
    Manifest,
    encode_config,
    encode_manifest,
    parse_config,
    parse_manifest,
)

DIGEST = "sha256:" + "ab" * 32
OTHER = "sha256:" + "cd" * 32


def test_the_config_of_an_empty_model() -> None:
    config = Config("gguf", "test", ("test",), "0", "unknown")
    assert encode_config(config) == (
        b'{"model_format":"gguf","model_family":"test","model_families":["test"],"model_type":"0",'
        b'"file_type":"unknown","architecture":"amd64","os":"linux"}\n'
    )
    digest = hashlib.sha256(encode_config(config)).hexdigest()
    assert digest == "99759ad5b91e723db0393d698ffbb448b1b7df5ff6377a108c49254583b1bc8c"


def test_a_config_keeps_the_order_of_its_keys() -> None:
    config = Config(
        model_format="gguf",
        renderer="r",
        parser="p",
        requires="0.14.0",
        capabilities=("tools",),
        context_length=5,
        base_name="b",
    )
    assert encode_config(config) == (
        b'{"model_format":"gguf","model_family":"","model_families":null,"model_type":"","file_type":"",'
        b'"renderer":"r","parser":"p","requires":"0.14.0","capabilities":["tools"],"context_length":5,'
        b'"base_name":"b","architecture":"amd64","os":"linux"}\n'
    )
    assert parse_config(encode_config(config)) == config


def test_a_config_of_a_registry_is_read() -> None:
    data = b'{"model_format":"gguf","model_families":null,"rootfs":{"type":"layers"},"renderer":null}'
    assert parse_config(data) == Config(model_format="gguf")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"model_format":1}',
        b'{"model_families":"llama"}',
        b'{"context_length":-1}',
        b"\xff",
        b"[" * 5000,
    ],
)
def test_a_damaged_config_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError, match="the config is damaged"):
        parse_config(data)


def test_a_manifest_is_one_line_with_its_keys_in_order() -> None:
    manifest = Manifest(
        Layer(CONFIG_TYPE, DIGEST, 5),
        (Layer(LAYER_TYPE + "model", OTHER, 7, from_="base:tag"), Layer("x/y", DIGEST, 1, name="n")),
    )
    assert encode_manifest(manifest).decode() == (
        '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":'
        f'{{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"{DIGEST}","size":5}},"layers":['
        f'{{"mediaType":"application/vnd.ollama.image.model","digest":"{OTHER}","size":7,"from":"base:tag"}},'
        f'{{"mediaType":"x/y","digest":"{DIGEST}","size":1,"name":"n"}}]}}\n'
    )
    assert parse_manifest(encode_manifest(manifest)) == manifest
    assert manifest.size == 13
    assert manifest.digests == (DIGEST, OTHER, DIGEST)
    assert manifest.of_kind("model") == (manifest.layers[0],)


LAYER = {"mediaType": "m", "digest": DIGEST, "size": 1}


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"config": LAYER, "layers": {}},
        {"config": LAYER, "layers": ["x"]},
        {"config": {**LAYER, "digest": "sha256:../../etc/passwd"}},
        {"config": {**LAYER, "digest": ""}},
        {"config": {**LAYER, "size": -1}},
        {"config": {**LAYER, "size": "1"}},
        {"config": {**LAYER, "mediaType": 1}},
    ],
)
def test_a_damaged_manifest_is_an_error(content: object) -> None:
    with pytest.raises(StoreError, match="the manifest is damaged"):
        parse_manifest(json.dumps(content).encode())


def test_a_manifest_without_layers_is_read() -> None:
    assert parse_manifest(json.dumps({"config": LAYER, "layers": None}).encode()).layers == ()
