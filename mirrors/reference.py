"""What a user types to name a model somewhere else: text in, a typed reference out. Opens nothing.

    llama3.2, me/model:tag, host:5000/ns/model    a model in a registry that speaks Ollama's protocol
    hf.co/org/repo:Q4_K_M                         a repository of Hugging Face; the tag chooses a file
    modelscope.cn/org/repo:Q4_K_M                 the same at ModelScope
    https://example.org/files/model.gguf          one file

A digest behind a name (`@sha256:…`) pins a registry's manifest. Rules for the parts of names: at most 80
characters (hosts 350) of the ASCII letters, digits, `_`, `-` and `.`, beginning with a letter, a digit or
`_`; no dot in a registry's namespace. The two hubs allow a dot in it.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from mirrors.errors import BadReference

DEFAULT_REGISTRY = "registry.ollama.ai"
DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"

HUB_HOSTS: dict[str, Literal["huggingface", "modelscope"]] = {
    "hf.co": "huggingface",
    "huggingface.co": "huggingface",
    "modelscope.cn": "modelscope",
    "www.modelscope.cn": "modelscope",
    "modelscope.ai": "modelscope",
    "www.modelscope.ai": "modelscope",
}

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}")
_NAMESPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FORMS = (
    "use NAME[:TAG], HOST/NAMESPACE/NAME[:TAG], hf.co/ORG/REPO[:TAG], modelscope.cn/ORG/REPO[:TAG] "
    "or the URL of a .gguf file"
)


@dataclass(frozen=True, slots=True)
class RegistryModel:
    """A model in a registry; `digest` ("sha256:" and 64 hex digits) pins its manifest where it was given."""

    scheme: Literal["https", "http"]
    host: str
    namespace: str
    model: str
    tag: str
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class HubRepository:
    """A repository of a hub. `tag` names a quantisation or a file; None leaves the choice to its contents."""

    hub: Literal["huggingface", "modelscope"]
    owner: str
    name: str
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class FileAddress:
    """One GGUF file on the web. `file_name` is the last part of its path, decoded."""

    url: str
    file_name: str


Reference: TypeAlias = RegistryModel | HubRepository | FileAddress


def parse(text: str) -> Reference:
    """Reads a reference. Raises BadReference."""
    scheme, given, rest = _split_scheme(text.strip())
    if given and _is_gguf_path(rest):
        return _file_address(text.strip())
    rest, digest = _split_digest(rest)
    name, tag = _split_tag(rest)
    parts = name.split("/")
    hub = HUB_HOSTS.get(parts[0].lower())
    if hub is not None:
        return _hub_repository(hub, parts, tag, digest, text)
    return _registry_model(scheme, parts, tag, digest, text)


def _hub_repository(
    hub: Literal["huggingface", "modelscope"],
    parts: list[str],
    tag: str | None,
    digest: str | None,
    text: str,
) -> HubRepository:
    if len(parts) != 3:
        raise _bad(text, f"a model at {parts[0]} is named {parts[0]}/ORG/REPO")
    if digest is not None:
        raise _bad(text, "a digest can only pin a model of a registry")
    for part in parts[1:]:
        _check(_PART, part, text)
    if tag is not None:
        _check(_PART, tag, text)
    return HubRepository(hub, parts[1], parts[2], tag)


def _registry_model(
    scheme: Literal["https", "http"], parts: list[str], tag: str | None, digest: str | None, text: str
) -> RegistryModel:
    if len(parts) > 3:
        raise _bad(text, "too many parts")
    host, namespace, model = [DEFAULT_REGISTRY, DEFAULT_NAMESPACE, ""][: 3 - len(parts)] + parts
    _check(_HOST, host, text)
    _check(_NAMESPACE, namespace, text)
    _check(_PART, model, text)
    tag = DEFAULT_TAG if tag is None else tag
    _check(_PART, tag, text)
    return RegistryModel(scheme, host, namespace, model, tag, digest)


def _file_address(text: str) -> FileAddress:
    parts = urlsplit(text)
    if not parts.hostname:
        raise _bad(text, "the URL has no host")
    if parts.username is not None or parts.password is not None:
        raise _bad(text, "a password in a URL would end up in logs; configure it instead", hide=True)
    name = unquote(parts.path).rsplit("/", 1)[-1]
    if "\0" in name or "\\" in name or name.startswith("."):
        raise _bad(text, "the file's name is not allowed")
    return FileAddress(text, name)


def _split_scheme(text: str) -> tuple[Literal["https", "http"], bool, str]:
    """The scheme, whether it was written, and the rest."""
    found, separator, rest = text.partition("://")
    if not separator:
        return "https", False, text
    if found.lower() not in ("http", "https"):
        raise _bad(text, f"{found}:// is not understood")
    return ("http" if found.lower() == "http" else "https"), True, rest


def _is_gguf_path(rest: str) -> bool:
    path = rest.split("?")[0].split("#")[0]
    return "/" in path and path.lower().endswith(".gguf")


def _split_digest(text: str) -> tuple[str, str | None]:
    name, separator, digest = text.partition("@")
    if not separator:
        return text, None
    if not _DIGEST.fullmatch(digest):
        raise _bad(text, "a digest is sha256: and 64 lower-case hexadecimal digits")
    return name, digest


def _split_tag(text: str) -> tuple[str, str | None]:
    """A colon behind the last slash begins the tag; one before it belongs to a port."""
    name, separator, tag = text.rpartition(":")
    if not separator or "/" in tag:
        return text, None
    return name, tag


def _check(pattern: re.Pattern[str], part: str, text: str) -> None:
    if not pattern.fullmatch(part):
        raise _bad(text, f"{part!r} cannot be part of a name" if part else "a part is empty")


def _bad(text: str, why: str, *, hide: bool = False) -> BadReference:
    return BadReference(f"{'this URL' if hide else repr(text)} is no model reference: {why} ({_FORMS})")
