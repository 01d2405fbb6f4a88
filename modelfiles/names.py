"""Model names, references and digests: text in, checked values out.

Grammar of a name: `[scheme://]host/namespace/model:tag`, where all but the model may be left out. Names are
compared without case and kept with it. Knows nothing of the store beyond the shape of a manifest's path, and
opens nothing.

Names of two parts are namespace and model, so `hub.example.org/otter` is refused: a namespace has no dot.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from modelfiles.errors import ConflictingSource, InvalidDigest, InvalidName, ModelRequired

DEFAULT_HOST = "registry.ollama.ai"
DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"
DEFAULT_SCHEME = "https"

Source = Literal["unspecified", "local", "cloud"]

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}")
_NAMESPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}")
_MODEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_DIGEST = re.compile(r"sha256[:-]([0-9a-fA-F]{64})")
_CLOUD_ENDING = "-cloud"


@dataclass(frozen=True, slots=True)
class Name:
    """A complete, valid model name. The scheme says how a registry is reached; equality ignores it."""

    host: str
    namespace: str
    model: str
    tag: str
    scheme: str = field(default="", compare=False)

    @property
    def display(self) -> str:
        """The shortest text that means this name, always with its tag: what users see."""
        short = f"{self.model}:{self.tag}"
        if self.host.lower() != DEFAULT_HOST:
            return f"{self.host}/{self.namespace}/{short}"
        return short if self.namespace.lower() == DEFAULT_NAMESPACE else f"{self.namespace}/{short}"

    @property
    def full(self) -> str:
        """All four parts."""
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def path(self) -> str:
        """Where the manifest lies below the manifests folder; `/` is the separator on every system."""
        return f"{self.host}/{self.namespace}/{self.model}/{self.tag}"

    @property
    def base_url(self) -> str:
        """Root of the registry that the name points to."""
        return f"{self.scheme or DEFAULT_SCHEME}://{self.host}"

    def __str__(self) -> str:
        return self.display


@dataclass(frozen=True, slots=True)
class Reference:
    """What a user typed, without its source suffix. `base` is not checked as a name yet."""

    base: str
    source: Source

    @property
    def pull_name(self) -> str:
        """The name that pull and delete work with: a cloud source becomes part of the tag again."""
        if self.source != "cloud":
            return self.base
        return self.base + (_CLOUD_ENDING if _split_tag(self.base)[1] is not None else ":cloud")


def parse_name(text: str) -> Name:
    """Read a name and fill in the defaults. Raises InvalidName."""
    rest, tag = _split_tag(text)
    parts = rest.rsplit("/", 2)
    model = parts.pop()
    namespace = parts.pop() if parts else None
    host, scheme = _split_scheme(parts.pop() if parts else None)
    return _checked(
        Name(
            host=DEFAULT_HOST if host is None else host,
            namespace=DEFAULT_NAMESPACE if namespace is None else namespace,
            model=model,
            tag=DEFAULT_TAG if tag is None else tag,
            scheme=scheme,
        ),
        text,
    )


def name_from_path(path: str) -> Name:
    """Read a manifest's path below the manifests folder, `host/namespace/model/tag`. Raises InvalidName."""
    parts = path.split("/")
    if len(parts) != 4:
        raise InvalidName(f"{path!r} is not the path of a manifest")
    return _checked(Name(*parts), path)


def equal_fold(a: Name, b: Name) -> bool:
    """Whether two names are the same without regard to case."""
    return a.full.lower() == b.full.lower()


def parse_reference(text: str) -> Reference:
    """Split `:cloud`, `:local` or a tag's `-cloud` off. Raises ModelRequired and ConflictingSource."""
    reference = _split_source(text.strip())
    if reference.source != "unspecified" and _split_source(reference.base).source != "unspecified":
        quoted = text.strip().replace("\\", "\\\\").replace('"', '\\"')
        raise ConflictingSource(f'use either :local or :cloud, not both: "{quoted}"')
    if not reference.base.strip():
        raise ModelRequired
    return reference


def parse_digest(text: str) -> str:
    """Return `sha256:<hex>` in lower case; a dash is accepted for the colon. Raises InvalidDigest."""
    match = _DIGEST.fullmatch(text)
    if match is None:
        raise InvalidDigest("invalid digest format")
    return "sha256:" + match[1].lower()


def _split_tag(text: str) -> tuple[str, str | None]:
    """A colon starts a tag only behind the last slash; before it, it belongs to a host's port."""
    if text.rfind(":") <= text.rfind("/"):
        return text, None
    rest, _, tag = text.rpartition(":")
    return rest, tag


def _split_scheme(host: str | None) -> tuple[str | None, str]:
    """A scheme without a host means the default host; a host promised by a slash alone must be there."""
    if host is None or "://" not in host:
        return host, ""
    scheme, _, rest = host.partition("://")
    return rest or None, scheme


def _split_source(text: str) -> Reference:
    base, colon, ending = text.rpartition(":")
    suffix = ending.strip()
    word = suffix.lower()
    if not colon:
        return Reference(text, "unspecified")
    if word == "cloud":
        return Reference(base, "cloud")
    if word == "local":
        return Reference(base, "local")
    if word.endswith(_CLOUD_ENDING) and "/" not in word:
        return Reference(f"{base}:{suffix[: -len(_CLOUD_ENDING)]}", "cloud")
    return Reference(text, "unspecified")


def _checked(name: Name, text: str) -> Name:
    valid = (
        _HOST.fullmatch(name.host)
        and _NAMESPACE.fullmatch(name.namespace)
        and _MODEL.fullmatch(name.model)
        and _MODEL.fullmatch(name.tag)
    )
    if not valid:
        raise InvalidName(f"invalid model name: {text}")
    return name
