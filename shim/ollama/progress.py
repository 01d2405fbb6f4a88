"""Progress of a job in Ollama's JSON. Pure."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from modelfiles.create import Progress
from shim.gojson import encode

Item = dict[str, object]


def progress_item(progress: Progress) -> Item:
    """One line; what is empty or zero is left out."""
    item: Item = {"status": progress.status}
    if progress.digest:
        item["digest"] = progress.digest
    if progress.total:
        item["total"] = progress.total
    if progress.completed:
        item["completed"] = progress.completed
    return item


async def progress_lines(source: AsyncGenerator[Progress, None]) -> AsyncGenerator[bytes, None]:
    """All of it as lines, as it comes; the source is closed with the result."""
    async with aclosing(source):
        async for progress in source:
            yield encode(progress_item(progress)) + b"\n"


async def last_item(source: AsyncGenerator[Progress, None]) -> Item:
    """The end of it, for those who want no stream; an error is raised."""
    last: Item = {}
    async with aclosing(source):
        async for progress in source:
            last = progress_item(progress)
    return last
