"""A downloader without tricks, and pulls over it: what is tested is what happens around downloads."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mirrors.config import NO_MIRRORS, MirrorConfig
from mirrors.errors import NotThere, WrongContent
from mirrors.identity import Identity
from mirrors.questions import Questions
from mirrors.sites.finding import Sites, SiteSettings
from mirrors.sources import Transfer, Wanted
from modelfiles.store import Store
from shim.bridge import Threads
from shim.pulling import Pulls
from shim.pushing import Pushes
from tests.mirrors.registries import questions


@dataclass
class Got:
    """A file that came; `finished` notes those that got their place."""

    path: Path
    digest: str
    finished: list[str]
    present: bool = False

    def done(self) -> None:
        self.finished.append(self.digest)

    def __enter__(self) -> object:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


@dataclass
class PlainDownloads:
    """The first source that has it, in one request. `gate` holds every download up until it is set."""

    web: Questions
    folder: Path
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    running: int = 0

    async def fetch(self, wanted: Wanted, progress: Callable[[Transfer], None]) -> Got:
        self.asked.append(wanted.name)
        self.running += 1
        try:
            progress(Transfer(0, wanted.size, 0.0, None, wanted.sources[0].mirror))
            await self.gate.wait()
            return await self._fetched(wanted, progress)
        finally:
            self.running -= 1

    async def _fetched(self, wanted: Wanted, progress: Callable[[Transfer], None]) -> Got:
        for source in wanted.sources:
            answer = await self.web.ask("GET", source.url, source.headers, access=source.access)
            if answer.status == 401 and source.renew is not None:
                fresh = await source.renew()
                answer = await self.web.ask("GET", fresh.url, fresh.headers, access=fresh.access)
            if answer.status == 200:
                break
        else:
            raise NotThere(f"{wanted.name}: no source has it")
        digest = "sha256:" + hashlib.sha256(answer.body).hexdigest()
        if wanted.digest not in (None, digest):
            raise WrongContent(f"{wanted.name}: {digest} came")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / digest[7:]
        path.write_bytes(answer.body)
        progress(Transfer(len(answer.body), len(answer.body), 1000.0, 0.0, source.mirror))
        return Got(path, digest, self.finished)


@dataclass
class Around:
    """Everything that a pull needs, over an empty store."""

    store: Store
    downloads: PlainDownloads
    pulls: Pulls
    pushes: Pushes


@asynccontextmanager
async def around(
    folder: Path,
    *,
    mirrors: MirrorConfig = NO_MIRRORS,
    endpoints: dict[str, str] | None = None,
    noprune: bool = False,
) -> AsyncIterator[Around]:
    threads, store = Threads(), Store(folder / "models", noprune=noprune)
    settings = SiteSettings("test", endpoints or {})
    sites = Sites(settings, lambda: mirrors, lambda: Identity(bytes(32)), lambda place: "")
    async with questions() as web:
        downloads = PlainDownloads(web, folder / "models" / ".partial")
        downloads.gate.set()
        pulls = Pulls(store, threads, sites, web, downloads, noprune=noprune)
        yield Around(store, downloads, pulls, Pushes(store, threads, sites, web))
    threads.close()
