"""Where things lie in a store. Names and digests are checked before they become paths, so none leads out.

    manifests/<host>/<namespace>/<model>/<tag>   blobs/sha256-<hex>      as in Ollama
    shim/lock   shim/linked/<hex>.json   shim/parts/<hex>/               ours, where Ollama looks for nothing

Pure: opens nothing.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from modelfiles.names import Name, parse_digest

_BLOB = re.compile(r"sha256-[0-9a-f]{64}")
_OLD_BLOB = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of a store and the paths in them."""

    root: Path

    @property
    def blobs(self) -> Path:
        return self.root / "blobs"

    @property
    def manifests(self) -> Path:
        return self.root / "manifests"

    @property
    def linked(self) -> Path:
        return self.root / "shim" / "linked"

    @property
    def parts(self) -> Path:
        return self.root / "shim" / "parts"

    @property
    def lock(self) -> Path:
        return self.root / "shim" / "lock"

    def blob(self, digest: str) -> Path:
        """Raises InvalidDigest."""
        return self.blobs / parse_digest(digest).replace(":", "-")

    def record(self, digest: str) -> Path:
        """Raises InvalidDigest."""
        return self.linked / (parse_digest(digest).removeprefix("sha256:") + ".json")

    def manifest(self, name: Name) -> Path:
        return self.manifests / name.path


def digest_of_blob(file_name: str) -> str | None:
    """The digest that a file in the blobs folder is named after; None for any other file."""
    return "sha256:" + file_name[7:] if _BLOB.fullmatch(file_name) else None


def new_blob_name(file_name: str) -> str | None:
    """What a blob of a very old store is called today; None for any other file."""
    return "sha256-" + file_name[7:] if _OLD_BLOB.fullmatch(file_name) else None
