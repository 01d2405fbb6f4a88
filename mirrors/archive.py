"""What an archive of models is: a plain tar that unpacks into a store. Values only; opens nothing.

    index.json                                      what is in it, always first
    manifests/<host>/<namespace>/<model>/<tag>      all of them before the first blob
    blobs/sha256-<hex>                              small to large

The index is `{"format": 1, "models": [{"name", "digest"}], "blobs": [{"digest", "size"}], "left_out":
[digest]}`: names are the manifests' paths, digests are those of their bytes; `left_out` are blobs which the
models need and the archive does not have, as the receiver has them. The same models make the same bytes.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mirrors.errors import BadAnswer, BadArchive
from mirrors.manifest import digest_of, read_manifest

INDEX = "index.json"
FORMAT = 1
LARGEST_INDEX = 16 << 20
LARGEST_MANIFEST = 4 << 20

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}/[A-Za-z0-9_][A-Za-z0-9_-]{0,79}(?:/[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}){2}"
)


@dataclass(frozen=True, slots=True)
class Index:
    """`models`: name -> digest of its manifest; `blobs`: digest -> bytes; both in the archive's order."""

    models: Mapping[str, str]
    blobs: Mapping[str, int]
    left_out: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """One line of JSON."""
        content = {
            "format": FORMAT,
            "models": [{"name": name, "digest": digest} for name, digest in self.models.items()],
            "blobs": [{"digest": digest, "size": size} for digest, size in self.blobs.items()],
            "left_out": list(self.left_out),
        }
        return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def make_index(manifests: Mapping[str, bytes], sizes: Mapping[str, int], have: frozenset[str]) -> Index:
    """The index of an archive with these models, without the blobs that the receiver has. BadAnswer."""
    needed = {blob.digest for name, data in manifests.items() for blob in read_manifest(data, name)}
    packed = sorted(needed - have, key=lambda digest: (sizes[digest], digest))
    models = {name: digest_of(data) for name, data in sorted(manifests.items())}
    return Index(models, {digest: sizes[digest] for digest in packed}, tuple(sorted(needed & have)))


def read_index(data: bytes) -> Index:
    """BadArchive for what is no index, or one of a later version."""
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise BadArchive(f"the archive is of format {content['format']!r:.20}; a newer version reads it")
        models = {item["name"]: item["digest"] for item in content["models"]}
        blobs = {item["digest"]: item["size"] for item in content["blobs"]}
        left_out = tuple(content.get("left_out", ()))
        distinct = len(models) == len(content["models"]) and len(blobs) == len(content["blobs"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadArchive("the archive's index.json is damaged") from error
    digests_right = all(
        isinstance(digest, str) and _DIGEST.fullmatch(digest)
        for digest in (*models.values(), *blobs, *left_out)
    )
    names_right = all(isinstance(name, str) and _NAME.fullmatch(name) for name in models)
    sizes_right = all(type(size) is int and 0 <= size < 1 << 63 for size in blobs.values())
    if not (distinct and digests_right and names_right and sizes_right):
        raise BadArchive("the archive's index.json holds names, digests or sizes that are none")
    return Index(models, blobs, left_out)


def check_models(index: Index, manifests: Mapping[str, bytes]) -> None:
    """Raise BadArchive unless manifests and index agree: every blob is needed, and has the size they say."""
    needed: dict[str, int | None] = {}
    for name, data in manifests.items():
        if digest_of(data) != index.models[name]:
            raise BadArchive(f"the manifest of {name} is not the one that the index promises")
        try:
            needed |= {blob.digest: blob.size for blob in read_manifest(data, name)}
        except BadAnswer as error:
            raise BadArchive(str(error)) from error
    for digest, size in index.blobs.items():
        if digest not in needed:
            raise BadArchive(f"no model of the archive needs its blob {digest}")
        if needed[digest] not in (None, size):
            raise BadArchive(f"{digest} is said to have {size} bytes, and by its manifest {needed[digest]}")
    absent = set(needed) - set(index.blobs) - set(index.left_out)
    if absent:
        raise BadArchive(f"the archive's index lacks blobs of its models: {', '.join(sorted(absent))}")


def digests_in(text: str) -> frozenset[str]:
    """What a receiver has: an index, or any text with digests in it, such as a list of a folder of blobs."""
    return frozenset(f"sha256:{found}" for found in re.findall(r"sha256[-:]([0-9a-f]{64})(?![0-9a-f])", text))
