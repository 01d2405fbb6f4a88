"""Archives that lie, lead out, swell or end: nothing of them goes further than the reader."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from mirrors.archive import Index
from mirrors.archive_headers import make_header, parse_header, with_pax
from mirrors.archive_reading import read_archive
from mirrors.errors import BadArchive, CutArchive
from mirrors.manifest import digest_of

NAME = "registry.example.org/library/m/latest"
WEIGHTS = b"GGUF" + bytes(5000)
CONFIG = b"{}"


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(data: bytes, kind: str = "model") -> dict[str, object]:
    return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": digest(data), "size": len(data)}


MANIFEST = json.dumps({"schemaVersion": 2, "config": layer(CONFIG), "layers": [layer(WEIGHTS)]}).encode()


def index(**changes: object) -> bytes:
    content: dict[str, Any] = {
        "format": 1,
        "models": [{"name": NAME, "digest": digest_of(MANIFEST)}],
        "blobs": [{"digest": digest(data), "size": len(data)} for data in (CONFIG, WEIGHTS)],
        "left_out": [],
    }
    return json.dumps(content | changes).encode()


Member = tuple[str, bytes] | tarfile.TarInfo


def blob(data: bytes) -> Member:
    return (f"blobs/{digest(data).replace(':', '-')}", data)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def whole() -> list[Member]:
    return [("index.json", index()), (f"manifests/{NAME}", MANIFEST), blob(CONFIG), blob(WEIGHTS)]


def pack(members: list[Member], form: int = tarfile.PAX_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return target.getvalue()


class Kept:
    """A receiver that keeps what it proves to be whole."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}

    def begin(self, index: Index, manifests: dict[str, bytes]) -> None:
        self.manifests = manifests

    def blob(self, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        data = b"".join(chunks)
        assert len(data) == size
        self.blobs[digest] = data


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_that_other_programs_wrote(form: int) -> None:
    kept = Kept()
    members = [*whole()[:2], special("./blobs", tarfile.DIRTYPE), *whole()[2:]]
    read_archive(io.BytesIO(pack(members, form)), kept)
    assert kept.blobs == {digest(CONFIG): CONFIG, digest(WEIGHTS): WEIGHTS}
    assert kept.manifests == {NAME: MANIFEST}


SWOLLEN = {"blobs": [{"digest": digest(CONFIG), "size": 2}, {"digest": digest(WEIGHTS), "size": 1 << 50}]}
EXTRA = {"blobs": [{"digest": digest(data), "size": len(data)} for data in (CONFIG, WEIGHTS, b"extra")]}


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ([], "empty|ends too early"),
        (whole()[1:], "no archive made by"),
        ([("index.json", b"[]")], "index.json is damaged"),
        ([("index.json", b"[" * 100000)], "index.json is damaged"),
        ([("index.json", index(format=2))], "format 2"),
        ([("index.json", index(models=[{"name": "../../etc/passwd/x", "digest": digest(b"")}]))], "none"),
        ([("index.json", index(models=[{"name": "a/../b/c", "digest": digest(b"")}]))], "none"),
        ([("index.json", index(blobs=[{"digest": "sha256:../x", "size": 1}]))], "none"),
        ([("index.json", index(blobs=[{"digest": digest(b""), "size": -1}]))], "none"),
        ([("index.json", index(blobs=[{"digest": digest(b""), "size": True}]))], "none"),
        ([("index.json", index(**SWOLLEN)), *whole()[1:]], "and by its manifest 5004|said to have"),
        ([("index.json", index(**EXTRA)), *whole()[1:]], "no model of the archive needs"),
        ([("index.json", index(blobs=[])), *whole()[1:]], "lacks blobs|does not allow"),
        ([*whole()[:2], ("blobs/../../x", b"")], "does not allow"),
        ([*whole()[:2], ("/etc/passwd", b"")], "does not allow"),
        ([*whole()[:2], ("C:\\x", b"")], "does not allow"),
        ([*whole()[:2], blob(b"another")], "does not allow"),
        ([*whole()[:3], blob(CONFIG)], "does not allow"),
        ([*whole()[:2], (f"manifests/{NAME}", MANIFEST)], "does not allow"),
        ([*whole()[:1], *whole()[2:]], "lacks manifests"),
        ([*whole()[:1], (f"manifests/{NAME}", MANIFEST + b" "), *whole()[2:]], "not the one"),
        ([*whole()[:3], (f"blobs/{digest(WEIGHTS)}".replace(":", "-"), WEIGHTS[::-1])], "content"),
        ([*whole()[:3], (f"blobs/{digest(WEIGHTS)}".replace(":", "-"), WEIGHTS + b"x")], "index says"),
        ([*whole()[:2], special("blobs/x", tarfile.SYMTYPE, "/etc")], "a symbolic link"),
        ([*whole()[:2], special("blobs/x", tarfile.LNKTYPE, "index.json")], "a hard link"),
        ([*whole()[:2], special("blobs/x", tarfile.CHRTYPE)], "a device"),
        ([*whole()[:2], special("blobs/x", tarfile.FIFOTYPE)], "a pipe"),
        ([*whole()[:2], special("blobs/x", tarfile.GNUTYPE_SPARSE)], "a sparse file"),
        ([*whole()[:2], special("blobs/../..", tarfile.DIRTYPE)], "a folder"),
        ([*whole()[:2], special("/etc", tarfile.DIRTYPE)], "a folder"),
        ([*whole()[:3], special("blobs/" + "x" * 70000, tarfile.REGTYPE)], "a name of"),
    ],
)
def test_archives_that_are_refused(members: list[Member], error: str) -> None:
    kept = Kept()
    with pytest.raises(BadArchive, match=error):
        read_archive(io.BytesIO(pack(members)), kept)
    assert digest(WEIGHTS) not in kept.blobs


def test_sparse_by_records_is_refused() -> None:
    info = tarfile.TarInfo(f"blobs/{digest(WEIGHTS).replace(':', '-')}")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 50)}
    with pytest.raises(BadArchive, match=r"GNU\.sparse"):
        read_archive(io.BytesIO(pack([*whole()[:3], info])), Kept())


def test_every_cut_is_noticed_and_says_what_is_missing() -> None:
    data = pack(whole())
    end = data.rindex(b"GGUF") + len(WEIGHTS)
    for length in range(0, end, 97):
        with pytest.raises(CutArchive, match="ends too early"):
            read_archive(io.BytesIO(data[:length]), Kept())
    with pytest.raises(CutArchive, match=digest(WEIGHTS)):
        read_archive(io.BytesIO(pack(whole()[:3])), Kept())


def test_no_flipped_byte_gets_through() -> None:
    data = pack(whole(), tarfile.USTAR_FORMAT)
    end = data.rindex(b"GGUF") + len(WEIGHTS)
    for at in range(0, end, 61):
        kept = Kept()
        broken = bytes(byte ^ (1 if place == at else 0) for place, byte in enumerate(data))
        with suppress(BadArchive):
            read_archive(io.BytesIO(broken), kept)
        for name, content in kept.blobs.items():
            assert digest(content) == name


@pytest.mark.parametrize("size", [0, 5, (1 << 33) - 1, 1 << 33, 1 << 45])
@pytest.mark.parametrize("name", ["blobs/x", "manifests/" + "h" * 349 + "/n/m/t"])
def test_headers_of_any_size_are_read_back_and_by_tar_too(size: int, name: str) -> None:
    header = make_header(name, size)
    entry = parse_header(header[:512])
    assert entry is not None
    if entry.kind == "x":
        records = header[512 : 512 + entry.size]
        inner = parse_header(header[-512:])
        assert inner is not None
        entry = with_pax(inner, records)
    assert (entry.name, entry.size) == (name, size)
    with tarfile.open(fileobj=io.BytesIO(header + bytes(1024)), ignore_zeros=True) as tar:
        info = tar.next()
        assert info is not None
        assert (info.name, info.size) == (name, size)


def test_receivers_may_leave_a_blob() -> None:
    class Leaves(Kept):
        def blob(self, digest: str, size: int, chunks: Iterator[bytes]) -> None:
            self.blobs[digest] = b""

    kept: Kept = Leaves()
    read_archive(io.BytesIO(pack(whole())), kept)
    assert len(kept.blobs) == 2
