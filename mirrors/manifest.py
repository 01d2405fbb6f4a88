"""What a registry's manifest says has to be fetched. Pure; the bytes themselves are kept as they came.

Strict where a value becomes a path, an allocation or a request, and lenient elsewhere: layers of unknown
types are fetched and kept, for someone may know them.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mirrors.errors import BadAnswer

LARGEST_BYTES = 4 << 20
EMPTY_DIGEST = "sha256:" + hashlib.sha256(b"").hexdigest()

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PREFIX = "application/vnd.ollama.image."
_WEIGHTS = ("model", "projector", "adapter", "draft")
_OBJECTS = ("params",)
_LISTS = ("messages",)
_TEXT_BYTES = 16 << 20
_TEXTS = ("template", "prompt", "system", "params", "messages", "license")


@dataclass(frozen=True, slots=True)
class Blob:
    """One thing to fetch. `size` is None where the manifest does not say it."""

    digest: str
    size: int | None
    kind: str

    @property
    def starts_with(self) -> tuple[bytes, ...]:
        """What the content can begin with, where its kind tells."""
        if self.kind in _WEIGHTS:
            return (b"GGUF",)
        return (b"{",) if self.kind in _OBJECTS or self.kind == "config" else ()

    @property
    def label(self) -> str:
        """As progress calls it."""
        return f"pulling {self.digest[7:19]}"


def digest_of(data: bytes) -> str:
    """Of a manifest's bytes, with `sha256:`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_manifest(data: bytes, host: str) -> tuple[Blob, ...]:
    """All blobs, each once, the layers first. BadAnswer, naming `host`, for what cannot be right."""
    content = _content(data, host)
    layers = content.get("layers")
    if layers is None:
        layers = []
    if not isinstance(layers, list):
        raise BadAnswer(f"{host} sent a manifest whose layers are no list")
    blobs = [_blob(item, host) for item in layers]
    blobs.append(_blob(content.get("config"), host, "config"))
    return _once(blobs, host)


def _content(data: bytes, host: str) -> dict[str, object]:
    if len(data) > LARGEST_BYTES:
        raise BadAnswer(f"{host} sent a manifest of more than {LARGEST_BYTES >> 20} MiB")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{host} sent a manifest that is no JSON") from error
    if not isinstance(content, dict):
        raise BadAnswer(f"{host} sent a manifest that is no JSON object")
    if content.get("schemaVersion", 2) != 2 or "manifests" in content:
        raise BadAnswer(f"{host} sent a manifest of another kind than models have")
    return content


def _blob(item: object, host: str, kind: str = "") -> Blob:
    if not isinstance(item, dict):
        raise BadAnswer(f"{host} sent a manifest with a {kind or 'layer'} that is no object")
    media_type, digest, size = item.get("mediaType", ""), item.get("digest"), item.get("size")
    if not isinstance(media_type, str) or len(media_type) > 255:
        raise BadAnswer(f"{host} sent a manifest with a media type that is no text")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadAnswer(f"{host} sent a manifest with a digest that is none: {digest!r:.100}")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 63):
        raise BadAnswer(f"{host} sent a manifest with a size that is none: {size!r:.40}")
    kind = kind or media_type.removeprefix(_PREFIX)
    if kind == "embed":
        raise BadAnswer(f"{host} has the model in an old form that nothing reads any more")
    if size == 0 and digest != EMPTY_DIGEST:
        size = None  # not said
    return Blob(digest, size, kind)


def _once(blobs: Iterable[Blob], host: str) -> tuple[Blob, ...]:
    """Each digest once, and sizes that can be."""
    total, known = 0, dict[str, Blob]()
    for blob in blobs:
        size = blob.size or 0
        total += size
        if (blob.kind in _TEXTS or blob.kind == "config") and size > _TEXT_BYTES:
            raise BadAnswer(f"{host} sent a manifest whose {blob.kind} is said to have {size} bytes")
        if known.setdefault(blob.digest, blob).size != blob.size:
            raise BadAnswer(f"{host} sent a manifest that says two sizes for {blob.digest}")
    if total >= 1 << 63:
        raise BadAnswer(f"{host} sent a manifest with absurd sizes: {total} bytes")
    return tuple(known.values())
