"""What a pull request names: where to look, and what the model is called here. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from mirrors.choice import quantisation
from mirrors.errors import BadReference
from mirrors.reference import FileAddress, Reference, RegistryModel, parse
from modelfiles.errors import ConflictingSource, InvalidName, ModelRequired
from modelfiles.names import DEFAULT_TAG, Name, parse_name, parse_reference
from shim.errors import bad_request, forbidden

NO_CLOUD = "ollama cloud is disabled: remote model is unavailable"
# Where models from plain addresses are put, below the host that they come from
FILES_NAMESPACE = "files"

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_PART = re.compile(r"-\d{5}-of-\d{5}$")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a model comes from and the name that it gets."""

    reference: Reference
    name: Name


def target_of(text: str) -> Target:
    """Read a request's model. ApiError, in Ollama's words where it has some."""
    text = text.strip()
    if "://" in text:
        return _of_address(text)
    base, separator, digest = text.partition("@")
    try:
        asked = parse_reference(base)
        name = parse_name(asked.pull_name)
    except (ModelRequired, InvalidName):
        raise bad_request("invalid model name") from None
    except ConflictingSource as error:
        raise bad_request(str(error)) from None
    if asked.source == "cloud":
        raise forbidden(NO_CLOUD)
    return Target(_reference(f"{asked.pull_name}{separator}{digest}"), name)


def _of_address(text: str) -> Target:
    reference = _reference(text)
    if isinstance(reference, FileAddress):
        return Target(reference, _name_of_file(reference))
    host, tag = urlsplit(text).netloc, reference.tag or DEFAULT_TAG
    if isinstance(reference, RegistryModel):
        parts = (reference.host, reference.namespace, reference.model)
        return Target(reference, _name(parts[0], parts[1], parts[2], tag))
    return Target(reference, _name(host, reference.owner, reference.name, tag))


def _name_of_file(address: FileAddress) -> Name:
    """`host/files/NAME:QUANTISATION`: the host's, so that it is never taken for a model of a registry."""
    stem = _PART.sub("", address.file_name[: -len(".gguf")])
    tag = quantisation(address.file_name)
    model = stem.lower().removesuffix(tag.lower()).strip("-._ ") if tag else stem.lower()
    model = _NOT_IN_NAMES.sub("-", model)[:80].strip("-.") or "model"
    return _name(urlsplit(address.url).netloc.lower(), FILES_NAMESPACE, model, tag or DEFAULT_TAG)


def _name(host: str, namespace: str, model: str, tag: str) -> Name:
    try:
        return parse_name(f"{host}/{namespace}/{model}:{tag}")
    except InvalidName:
        raise bad_request("invalid model name") from None


def _reference(text: str) -> Reference:
    try:
        return parse(text)
    except BadReference as error:
        raise bad_request(f"invalid model name: {error}") from None
