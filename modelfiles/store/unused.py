"""What may be removed from a store: pure decisions, by what the manifests say and how old the files are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from modelfiles.package import Manifest
from modelfiles.store.blobs import BlobFile

HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What was removed: file names in the blobs folder. `skipped` says why nothing was, or is empty."""

    removed: tuple[str, ...] = ()
    skipped: str = ""


def orphans(of: Manifest, others: Iterable[Manifest]) -> list[str]:
    """Digests that only `of` needs, each once, in the manifest's order."""
    needed = {digest for manifest in others for digest in manifest.digests}
    return [digest for digest in dict.fromkeys(of.digests) if digest not in needed]


def prunable(
    files: Iterable[BlobFile],
    manifests: Iterable[Manifest],
    used_ns: Callable[[str], int],
    now_ns: int,
    age_ns: int = HOUR_NS,
) -> list[BlobFile]:
    """Files that no manifest needs and that nobody touched lately.

    `used_ns` says when a linked blob, whose own times are its owner's, was last used; 0 for any other.
    """
    needed = {digest for manifest in manifests for digest in manifest.digests}
    return [
        file for file in files if file.digest not in needed and now_ns - _last_use(file, used_ns) > age_ns
    ]


def _last_use(file: BlobFile, used_ns: Callable[[str], int]) -> int:
    return file.mtime_ns if file.digest is None else max(file.mtime_ns, used_ns(file.digest))
