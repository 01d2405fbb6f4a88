"""Names of models from names of files and folders, which may hold any character. Pure."""

import re

from mirrors.choice import quantisation

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")
_PART = re.compile(r"-\d{5}-of-\d{5}$")
_LENGTH = 80


def plain(text: str, *, dots: bool = True) -> str:
    """The text as a part of a model's name, in its own case; empty where nothing of it can stay."""
    kept = _OTHER.sub("-", text)
    if not dots:
        kept = kept.replace(".", "-")
    kept = re.sub(r"-{2,}", "-", kept)
    return kept.strip("-.")[:_LENGTH].rstrip("-.")


def name_and_tag(file_name: str) -> tuple[str, str]:
    """What a file of weights is called: the model in lower case, and its quantisation as the tag."""
    stem = _PART.sub("", re.sub(r"\.gguf$", "", file_name, flags=re.IGNORECASE))
    tag = quantisation(file_name)
    if tag:
        at = stem.upper().rfind(tag.upper())
        stem = f"{stem[:at].rstrip('-._ ')}{stem[at + len(tag) :]}"
    return plain(stem.lower()), tag


def hub_name(owner: str, repository: str) -> str:
    """`owner/repository` as namespace and model."""
    namespace, model = plain(owner, dots=False), plain(repository)
    return f"{namespace}/{model}" if namespace and model else model
