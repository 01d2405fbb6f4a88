"""What a mirror is worth now: how soon it answers, whether it gives ranges, and how fast.

A small model, or the files of a small repository, is asked for, and a few seconds' worth of one of its blobs
read and thrown away.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiohttp

from mirrors.asking import Answer
from mirrors.choice import RemoteFile, choose
from mirrors.config import Mirror
from mirrors.errors import MirrorsError, NotThere
from mirrors.http import HttpClient, HttpSettings, host_of
from mirrors.identity import Identity
from mirrors.listed import HUGGING_FACE, MODELSCOPE, PROBED, REGISTRY
from mirrors.questions import Questions
from mirrors.reference import HubRepository, RegistryModel, parse
from mirrors.resolver import explain
from mirrors.sites.finding import SITES
from mirrors.sites.registry import Repository, access_of, places_of, plan
from mirrors.sources import Source

READ_SECONDS = 4.0
READ_BYTES = 64 << 20
_CHUNK_BYTES = 256 << 10
_HUBS = {HUGGING_FACE: "huggingface", MODELSCOPE: "modelscope"}


@dataclass(frozen=True, slots=True)
class Probed:
    """What was found; `fault` is a sentence where it is of no use."""

    site: str
    url: str
    latency_seconds: float = 0.0
    gives_ranges: bool = False
    bytes_per_second: float = 0.0
    fault: str = ""

    @property
    def latency_text(self) -> str:
        return f"{self.latency_seconds * 1000:.0f} ms" if self.latency_seconds else "-"

    @property
    def ranges_text(self) -> str:
        return "yes" if self.gives_ranges else "-" if self.fault else "no"


async def probe_all(
    pairs: Sequence[tuple[str, Mirror]], model: str, *, proxies: Mapping[str, str]
) -> list[Probed]:
    """Each mirror after the other, so that none takes another's line. `model` "": a small one."""
    client = HttpClient(HttpSettings(environment=proxies, private_hosts=frozenset(m.host for _, m in pairs)))
    try:
        return [await _probe(client, site, mirror, model) for site, mirror in pairs]
    finally:
        await client.close()


async def _probe(client: HttpClient, site: str, mirror: Mirror, model: str) -> Probed:
    started = time.monotonic()
    try:
        source = await _source(Questions(client), site, mirror, model or PROBED.get(site, ""))
        latency = time.monotonic() - started
        ranges, rate = await _read(client, source)
    except MirrorsError as error:
        return Probed(site, mirror.url, fault=str(error))
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return Probed(site, mirror.url, fault=explain(error, mirror.host))
    return Probed(site, mirror.url, latency, ranges, rate)


async def _source(web: Questions, site: str, mirror: Mirror, model: str) -> Source:
    """The largest file of the model there."""
    hub = _HUBS.get(site)
    if hub is not None:
        reference = parse(f"{site}/{model}")
        assert isinstance(reference, HubRepository)

        async def ask(url: str) -> Answer:
            return await web.ask("GET", url, access=access_of(mirror))

        listing = await SITES[hub].listing(mirror.url, reference, ask)
        file: RemoteFile = choose(listing.files, reference.tag).model[0]
        url = SITES[hub].file_url(mirror.url, reference, listing.revision, file.path)
        return Source(url, mirror.host, access=access_of(mirror))
    asked = parse(model or PROBED[REGISTRY])
    assert isinstance(asked, RegistryModel)
    repository = Repository(asked.namespace, asked.model, asked.tag)
    places = places_of(web, mirror.url, (), lambda: Identity(bytes(32)), {}, str, access_of(mirror))
    found = await plan(places, repository)
    if not found.blobs:
        raise NotThere(f"{mirror.host} has nothing of {model}")
    return max(found.blobs, key=lambda blob: blob.size or 0).sources[0]


async def _read(client: HttpClient, source: Source) -> tuple[bool, float]:
    """Whether a range is given, and bytes a second over some seconds."""
    headers = {"Range": f"bytes=1-{READ_BYTES}"}
    async with client.request("GET", source.url, headers, source.headers, source.access) as found:
        response = found.response
        if response.status >= 400:
            raise NotThere(f"{host_of(found.url)} answers {response.status}")
        ranges = response.headers.get("Content-Range", "").startswith("bytes 1-")
        count, started = 0, time.monotonic()
        try:
            async with asyncio.timeout(READ_SECONDS):
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    count += len(chunk)
        except TimeoutError:
            pass
        return ranges, count / max(time.monotonic() - started, 1e-6)
