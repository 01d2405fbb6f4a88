"""Asks how large a file is that nobody describes beforehand, and by which mark its parts are known to belong
together.
"""

import asyncio
import time
from dataclasses import dataclass, replace

import aiohttp

from mirrors.answers import Accepted, Asked, judge
from mirrors.backoff import Backoff, told_seconds
from mirrors.errors import DownloadFailed, MirrorsError, NotPermitted, NotThere, Refused, Unreachable
from mirrors.http import HttpClient
from mirrors.resolver import explain
from mirrors.sources import Source, Wanted


@dataclass(frozen=True, slots=True)
class Found:
    """The source that answered, now with its ETag where that is a strong one, and the file's size."""

    source: Source
    size: int


async def probe(wanted: Wanted, client: HttpClient, chance: Backoff, give_up_seconds: float) -> Found:
    """Asks each source for the first byte until one tells the size. Raises DownloadFailed."""
    began = time.monotonic()
    while True:
        failures: list[DownloadFailed] = []
        told: float | None = None
        for source in wanted.sources:
            answer, wait = await _ask(source, wanted.name, client)
            if isinstance(answer, Found):
                return answer
            failures.append(answer)
            told = wait if told is None or (wait is not None and wait < told) else told
        final = [failure for failure in failures if not isinstance(failure, Unreachable)]
        if len(final) == len(failures) or (give_up_seconds and time.monotonic() - began > give_up_seconds):
            raise failures[0]
        await asyncio.sleep(chance.failed(told))


async def _ask(source: Source, name: str, client: HttpClient) -> tuple[Found | DownloadFailed, float | None]:
    """One try; with a failure comes how long the server wants to be left alone."""
    text = f"cannot fetch {name} from {source.mirror}"
    first = {"Range": "bytes=0-0"}
    try:
        async with (
            asyncio.timeout(30),
            client.request("GET", source.url, first, source.headers, source.access) as answer,
        ):
            response = answer.response
            verdict = judge(Asked(0, 1, None, ranged=True), response.status, response.headers)
            if isinstance(verdict, Accepted):
                if verdict.total is None:
                    return Refused(f"{text}: it does not say how long the file is"), None
                etag = response.headers.get("ETag", "")
                return Found(replace(source, etag=etag if etag.startswith('"') else ""), verdict.total), None
            wait = told_seconds(response.headers, time.time())
    except Refused as error:
        return error, None
    except (MirrorsError, aiohttp.ClientError, OSError) as error:
        return Unreachable(f"{text}: {explain(error, source.host)}"), None
    kinds: dict[str, type[DownloadFailed]] = {"missing": NotThere, "denied": NotPermitted, "proxy": Refused}
    return kinds.get(verdict.fault, Unreachable)(f"{text}: it {verdict.why}"), wait
