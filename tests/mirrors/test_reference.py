"""Typed references from what users type."""

from typing import Literal

import pytest

from mirrors.errors import BadReference
from mirrors.reference import FileAddress, HubRepository, Reference, RegistryModel, parse

DIGEST = "sha256:" + "0a" * 32


def registry(model: str, tag: str = "latest", namespace: str = "library", **others: str) -> RegistryModel:
    scheme: Literal["https", "http"] = "http" if others.get("scheme") == "http" else "https"
    host = others.get("host", "registry.ollama.ai")
    return RegistryModel(scheme, host, namespace, model, tag, others.get("digest"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llama3.2", registry("llama3.2")),
        ("llama3.2:1b", registry("llama3.2", "1b")),
        ("  me/model:Q4_K_M ", registry("model", "Q4_K_M", "me")),
        ("host:5000/ns/model", registry("model", namespace="ns", host="host:5000")),
        ("http://host/ns/model:t", registry("model", "t", "ns", host="host", scheme="http")),
        ("HTTPS://host/ns/model", registry("model", namespace="ns", host="host")),
        (f"model@{DIGEST}", registry("model", digest=DIGEST)),
        (f"model:tag@{DIGEST}", registry("model", "tag", digest=DIGEST)),
        ("hf.co/org/repo", HubRepository("huggingface", "org", "repo")),
        ("hf.co/org/repo:Q4_K_M", HubRepository("huggingface", "org", "repo", "Q4_K_M")),
        ("https://huggingface.co/org/Repo-1.5", HubRepository("huggingface", "org", "Repo-1.5")),
        ("HF.co/org/repo:model.gguf", HubRepository("huggingface", "org", "repo", "model.gguf")),
        ("modelscope.cn/Qwen/Qwen3-30B:q8_0", HubRepository("modelscope", "Qwen", "Qwen3-30B", "q8_0")),
        ("www.modelscope.cn/a.b/c", HubRepository("modelscope", "a.b", "c")),
        ("https://example.org/a/m.gguf", FileAddress("https://example.org/a/m.gguf", "m.gguf")),
        ("http://h:8080/m%20x.GGUF?s=1", FileAddress("http://h:8080/m%20x.GGUF?s=1", "m x.GGUF")),
        (
            "https://hf.co/org/repo/resolve/main/m.gguf",
            FileAddress("https://hf.co/org/repo/resolve/main/m.gguf", "m.gguf"),
        ),
        ("m.gguf", registry("m.gguf")),
    ],
)
def test_understood(text: str, expected: Reference) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "a part is empty"),
        ("model:", "a part is empty"),
        ("/model", "a part is empty"),
        ("a//b", "a part is empty"),
        ("a/b/c/d", "too many parts"),
        ("ns.x/model", "'ns.x' cannot be part"),
        ("-model", "'-model' cannot be part"),
        ("mo del", "cannot be part"),
        ("../x", "'..' cannot be part"),
        ("x" * 81, "cannot be part"),
        ("modèle", "cannot be part"),
        ("ftp://host/ns/model", "ftp:// is not understood"),
        ("model@sha256:12", "64 lower-case hexadecimal digits"),
        (f"model@{DIGEST.upper()}", "64 lower-case hexadecimal digits"),
        ("hf.co/org", "hf.co/ORG/REPO"),
        ("modelscope.cn/a/b/c", "modelscope.cn/ORG/REPO"),
        (f"hf.co/org/repo@{DIGEST}", "only pin a model of a registry"),
        ("https:///m.gguf", "no host"),
        ("https://example.org/..%2F..%5Cm.gguf", "not allowed"),
    ],
)
def test_refused(text: str, fault: str) -> None:
    with pytest.raises(BadReference) as refused:
        parse(text)
    assert fault in str(refused.value)
    assert "hf.co/ORG/REPO[:TAG]" in str(refused.value)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(BadReference) as refused:
        parse("https://me:secret@example.org/m.gguf")
    assert "secret" not in str(refused.value)
