"""Blobs that clients send: streamed to disk and hashed on the way, never held in memory.

Whatever ends an upload early (a client that goes away, a full disk, the end of the server), nothing
half-written stays. Knows no HTTP; the bytes come from any async iterator.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from modelfiles.names import parse_digest
from modelfiles.store import Store
from shim.bridge import Threads

_WRITE_BYTES = 1 << 20


async def has_blob(store: Store, threads: Threads, digest: str) -> bool:
    """Whether the store has it. InvalidDigest."""
    return await threads.run(store.has_blob, parse_digest(digest))


async def receive_blob(store: Store, threads: Threads, digest: str, chunks: AsyncIterator[bytes]) -> bool:
    """Store what comes; False, with everything read and dropped, when the store has that blob already.

    Raises InvalidDigest; DigestMismatch, where the content stays under its real digest; StoreError. As in
    Ollama the digest is compared as it was spelled, so that another spelling than `sha256:<hex>` never fits.
    """
    if await has_blob(store, threads, digest):
        # Not to read would reset the connection under clients that send first and read later.
        async for _ in chunks:
            pass
        return False
    writer = await threads.run(store.open_blob_writer)
    try:
        async for block in _blocks(chunks):
            await threads.run_through(writer.write, block)
        await threads.run_through(writer.finish, digest)
    finally:
        await threads.run_through(writer.abort)
    return True


async def _blocks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytearray]:
    """The same bytes in pieces large enough to be worth a thread's while."""
    block = bytearray()
    async for chunk in chunks:
        block += chunk
        if len(block) >= _WRITE_BYTES:
            yield block
            block = bytearray()
    if block:
        yield block
