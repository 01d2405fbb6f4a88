"""Uploads into a real store."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from modelfiles.errors import DigestMismatch, InvalidDigest
from modelfiles.store import Store
from shim.bridge import Threads
from shim.uploads import has_blob, receive_blob

CONTENT = bytes(range(256)) * 10_000
DIGEST = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


@pytest.fixture
def threads() -> Threads:
    return Threads()


async def pieces(content: bytes, size: int = 70_001) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def files(store: Store) -> list[str]:
    return sorted(path.name for path in (store.root / "blobs").iterdir())


async def test_a_blob_is_stored_under_its_digest(store: Store, threads: Threads) -> None:
    assert not await has_blob(store, threads, DIGEST)
    assert await receive_blob(store, threads, DIGEST, pieces(CONTENT))
    assert await has_blob(store, threads, DIGEST)
    assert store.blob_path(DIGEST).read_bytes() == CONTENT
    assert files(store) == [DIGEST.replace(":", "-")]


async def test_an_empty_blob(store: Store, threads: Threads) -> None:
    digest = "sha256:" + hashlib.sha256(b"").hexdigest()
    assert await receive_blob(store, threads, digest, pieces(b""))


async def test_a_known_blob_is_read_and_dropped(store: Store, threads: Threads) -> None:
    await receive_blob(store, threads, DIGEST, pieces(CONTENT))
    rest = pieces(b"anything else")
    assert not await receive_blob(store, threads, DIGEST, rest)
    assert [piece async for piece in rest] == []
    assert store.blob_path(DIGEST).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "spell", [str.upper, lambda digest: digest.replace(":", "-"), lambda _: "sha256:" + "0" * 64]
)
async def test_a_digest_that_does_not_fit_is_refused_but_the_content_stays(
    store: Store, threads: Threads, spell: Callable[[str], str]
) -> None:
    asked = "sha256" + spell(DIGEST)[6:]
    with pytest.raises(DigestMismatch) as caught:
        await receive_blob(store, threads, asked, pieces(CONTENT))
    assert (caught.value.expected, caught.value.actual) == (asked, DIGEST)
    assert store.has_blob(DIGEST)


@pytest.mark.parametrize(
    "digest", ["", "sha256:12", "md5:" + "0" * 64, "../../etc/passwd", "sha256:" + "g" * 64]
)
async def test_what_is_no_digest_is_refused(store: Store, threads: Threads, digest: str) -> None:
    with pytest.raises(InvalidDigest):
        await receive_blob(store, threads, digest, pieces(CONTENT))


async def test_an_upload_that_breaks_off_leaves_nothing(store: Store, threads: Threads) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield CONTENT
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await receive_blob(store, threads, DIGEST, broken())
    assert files(store) == []


async def test_a_cancelled_upload_leaves_nothing(store: Store, threads: Threads) -> None:
    waiting = asyncio.Event()

    async def stuck() -> AsyncIterator[bytes]:
        yield CONTENT
        waiting.set()
        await asyncio.Event().wait()

    upload = asyncio.create_task(receive_blob(store, threads, DIGEST, stuck()))
    await waiting.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert files(store) == []


async def test_the_same_blob_from_many_at_once(store: Store, threads: Threads) -> None:
    results = await asyncio.gather(
        *(receive_blob(store, threads, DIGEST, pieces(CONTENT)) for _ in range(12))
    )
    assert any(results)
    assert files(store) == [DIGEST.replace(":", "-")]
