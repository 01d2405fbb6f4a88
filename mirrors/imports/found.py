"""What a look at a folder finds: models as files, models as manifests, and what is left aside and why."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of weights. `digest` is what the folder promises it to be (`sha256:<hex>`), or empty."""

    path: Path
    size: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """Files that make one model. `name` (`model` or `namespace/model`) and `tag` are empty where unknown."""

    layout: str
    name: str
    tag: str
    files: tuple[FoundFile, ...]
    texts: tuple[tuple[str, Path], ...] = ()

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class FoundManifest:
    """A model of another store. `name` is `host/namespace/model/tag`; `blobs` are all that it needs."""

    name: str
    data: bytes
    blobs: tuple[FoundFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.blobs)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is not imported."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """All of one path."""

    models: tuple[FoundModel, ...] = ()
    manifests: tuple[FoundManifest, ...] = ()
    archives: tuple[Path, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def joined(parts: Iterable[Found]) -> Found:
    """Several finds as one."""
    every = list(parts)
    return Found(
        tuple(item for part in every for item in part.models),
        tuple(item for part in every for item in part.manifests),
        tuple(item for part in every for item in part.archives),
        tuple(item for part in every for item in part.skipped),
    )
