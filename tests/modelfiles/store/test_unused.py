"""What may be removed: decided by manifests and ages alone."""

from modelfiles.package import Layer, Manifest
from modelfiles.store.blobs import BlobFile
from modelfiles.store.unused import HOUR_NS, orphans, prunable

NOW_NS = 100 * HOUR_NS


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def manifest(config: int, *layers: int) -> Manifest:
    return Manifest(Layer("", digest(config), 1), tuple(Layer("", digest(number), 1) for number in layers))


def blob(number: int | str, age_ns: int) -> BlobFile:
    if isinstance(number, str):
        return BlobFile(number, None, 1, NOW_NS - age_ns)
    return BlobFile(digest(number).replace(":", "-"), digest(number), 1, NOW_NS - age_ns)


def test_orphans_are_what_no_other_manifest_needs() -> None:
    assert orphans(manifest(1, 2, 3, 2, 4), [manifest(9, 3), manifest(4)]) == [digest(1), digest(2)]
    assert orphans(manifest(1, 2), [manifest(1, 2)]) == []


def test_only_old_and_needless_files_are_pruned() -> None:
    files = [
        blob(1, 50 * HOUR_NS),  # needed
        blob(2, HOUR_NS + 1),  # needless
        blob(3, HOUR_NS),  # needless, but young
        blob("sha256-partial", 2 * HOUR_NS),  # a stranger
        blob("sha256-new-1", 5),  # a young stranger
        blob(4, 50 * HOUR_NS),  # linked, and used lately
        blob(5, 50 * HOUR_NS),  # linked, and used long ago
    ]
    used = {digest(4): NOW_NS - 5, digest(5): NOW_NS - 40 * HOUR_NS}
    doomed = prunable(files, [manifest(1)], lambda item: used.get(item, 0), NOW_NS)
    assert [file.name for file in doomed] == [files[1].name, "sha256-partial", files[6].name]
