"""Progress of a job in Ollama's JSON. Pure."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

from modelfiles.create import Progress
from shim.gojson import encode

Item = dict[str, object]
Step = TypeVar("Step")


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


async def progress_lines(
    source: AsyncGenerator[Step, None], item: Callable[[Step], Item]
) -> AsyncGenerator[bytes, None]:
    """All of it as lines, as it comes; the source is closed with the result."""
    async with aclosing(source):
        async for progress in source:
            yield encode(item(progress)) + b"\n"


async def last_item(source: AsyncGenerator[Step, None], item: Callable[[Step], Item]) -> Item:
    """The end of it, for those who want no stream; an error is raised."""
    last: Item = {}
    async with aclosing(source):
        async for progress in source:
            last = item(progress)
    return last
