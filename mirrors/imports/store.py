"""Another store in Ollama's layout, as it was copied: odd names of blobs and strangers among manifests too.

    manifests/<host>/<namespace>/<model>/<tag>   blobs/sha256-<hex>   (very old: blobs/sha256:<hex>)
"""

import os
import re
from pathlib import Path

from mirrors.errors import BadAnswer
from mirrors.imports.found import Found, FoundFile, FoundManifest, FoundModel, Skipped, joined
from mirrors.imports.walking import is_unfinished
from mirrors.manifest import LARGEST_BYTES, read_manifest

_BLOB = re.compile(r"sha256[-:]([0-9a-f]{64})")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}")
_MAGIC = b"GGUF"


def store_root(path: Path) -> Path | None:
    """The store, if this is one, the home that holds one, or its folder of manifests."""
    for root in (path, path / "models", path / ".ollama" / "models"):
        if (root / "manifests").is_dir() and (root / "blobs").is_dir():
            return root
    return None


def find_store(root: Path) -> Found:
    """Every model with a manifest whose blobs are all there."""
    blobs = _blobs(root / "blobs")
    return joined(_manifest(root / "manifests", path, blobs) for path in _files(root / "manifests"))


def find_blobs(folder: Path) -> Found:
    """Weights in a folder of blobs that came without manifests; they have no names."""
    found, skipped = [], []
    for digest, file in _blobs(folder).items():
        try:
            with open(file.path, "rb") as opened:
                weights = opened.read(len(_MAGIC)) == _MAGIC
        except OSError as error:
            skipped.append(Skipped(str(file.path), f"cannot be read: {error.strerror}"))
            continue
        if weights:
            found.append(FoundModel("blobs", "", "", (FoundFile(file.path, file.size, digest),)))
    return Found(tuple(found), skipped=tuple(skipped))


def has_blobs(folder: Path) -> bool:
    """Whether a folder holds files that are named after digests."""
    return any(_BLOB.fullmatch(name) for name in os.listdir(folder))


def _blobs(folder: Path) -> dict[str, FoundFile]:
    found = {}
    for path in sorted(folder.iterdir()):
        match = _BLOB.fullmatch(path.name)
        inside = not path.is_symlink() or path.resolve().is_relative_to(folder.resolve())
        if match and inside and path.is_file():
            digest = f"sha256:{match[1]}"
            found[digest] = FoundFile(path, path.stat().st_size, digest)
    return found


def _files(base: Path) -> list[Path]:
    """Regular files below the manifests folder; no link is followed."""
    found = []
    for folder, _, names in os.walk(base):
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _manifest(base: Path, path: Path, blobs: dict[str, FoundFile]) -> Found:
    parts = path.relative_to(base).parts
    if len(parts) != 4 or not all(map(_PART.fullmatch, parts)) or is_unfinished(path.name):
        return _left(path, "not the path of a manifest")
    name = "/".join(parts)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        needed = read_manifest(data, name)
    except OSError as error:
        return _left(path, f"cannot be read: {error.strerror}")
    except BadAnswer as error:
        return _left(path, f"a damaged manifest: {error}")
    missing = [blob.digest for blob in needed if blob.digest not in blobs]
    if missing:
        return Found(skipped=(Skipped(name, f"blobs are missing: {', '.join(missing)}"),))
    for blob in needed:
        if blob.size not in (None, blobs[blob.digest].size):
            size = blobs[blob.digest].size
            return Found(skipped=(Skipped(name, f"{blob.digest} has {size} of {blob.size} bytes"),))
    return Found(manifests=(FoundManifest(name, data, tuple(blobs[blob.digest] for blob in needed)),))


def _left(path: Path, reason: str) -> Found:
    return Found(skipped=(Skipped(str(path), reason),))
