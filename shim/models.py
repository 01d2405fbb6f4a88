"""The models of the store, for every dialect: list, describe, copy, delete, create.

Blocking work goes to threads. What a list tells of a model is kept by manifest digest, which changes with the
content, so that only the first list reads headers; `warm` makes that one early. Knows no dialect.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from modelfiles.capabilities import capabilities
from modelfiles.create import CreateRequest, Progress, check_request, create
from modelfiles.describe import Details, ShowInfo, ShowOptions, details, show
from modelfiles.errors import BadGGUF, ModelfilesError, ModelNotFound
from modelfiles.gguf import GGUF
from modelfiles.names import Name, parse_name, parse_reference
from modelfiles.package import Package
from modelfiles.quantizing import Job
from modelfiles.store import Store
from runtime.quantize import quantize as run_quantizer
from runtime.quantize_order import Order
from shim.bridge import Threads
from shim.headers import Headers, read_header

LOG = logging.getLogger("shim.models")

# Brings a model into the store, by the name that a request has for it
Fetch: TypeAlias = Callable[[str], AsyncGenerator[Progress, None]]


class Runners(Protocol):
    """Who runs models; see `runtime.supervisor.Supervisor`."""

    async def unload(self, model: str) -> bool:
        """Let a model go, by the name that it was asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Summary:
    """What a list tells of a model."""

    package: Package
    details: Details
    capabilities: tuple[str, ...]


class Models:
    """Made once; its methods may be called at the same time."""

    def __init__(
        self,
        store: Store,
        headers: Headers,
        threads: Threads,
        runners: Runners,
        *,
        go_template: bool | None = None,
    ) -> None:
        self._store = store
        self._headers = headers
        self._threads = threads
        self._runners = runners
        self._go_template = go_template
        self._told: dict[str, tuple[Details, tuple[str, ...]]] = {}

    async def summaries(self) -> list[Summary]:
        """All models that can be read, the last changed first."""
        return await self._threads.run(self._summaries)

    async def warm(self) -> None:
        """Read what the first list needs, before anybody waits for it."""
        await self._threads.run_long(self._summaries)

    async def summary(self, package: Package) -> Summary:
        """What a list tells of this one."""
        return await self._threads.run(self._summary, package)

    async def show(self, name: Name, options: ShowOptions) -> ShowInfo:
        """Everything about a model. Raises ModelNotFound, StoreError and BadGGUF."""
        return await self._threads.run(self._show, name, options)

    async def copy(self, source: Name, destination: Name) -> None:
        """Raises ModelNotFound and StoreError."""
        await self._threads.run(self._store.copy, source, destination)

    async def delete(self, name: Name) -> None:
        """Delete a model; if it is loaded it leaves as soon as it is idle. ModelNotFound and StoreError."""
        found = await self._threads.run(self._store.resolve, name)
        await self._threads.run(self._store.delete, found)
        await self._runners.unload(found.display)

    def create(self, request: CreateRequest, fetch: Fetch | None = None) -> AsyncGenerator[Progress, None]:
        """Carry the request out; its progress. CreateError at once for what can be refused at once.

        `fetch` brings the model that the request starts from into the store, if that is not there.
        """
        check_request(request)

        def work(report: Callable[[Progress], None]) -> None:
            create(self._store, request, report, quantizer=quantize)

        if fetch is None or not request.from_ or request.remote_host:
            return self._threads.progress(work)
        return self._fetched_first(request.from_, fetch, work)

    async def _fetched_first(
        self, source: str, fetch: Fetch, work: Callable[[Callable[[Progress], None]], None]
    ) -> AsyncGenerator[Progress, None]:
        if await self._threads.run(self._lacks, source):
            async with aclosing(fetch(source)) as steps:
                async for step in steps:
                    yield step
        async with aclosing(self._threads.progress(work)) as steps:
            async for step in steps:
                yield step

    def _lacks(self, text: str) -> bool:
        """Whether a model could be fetched and is not here; what is no name is for `create` to refuse."""
        try:
            reference = parse_reference(text)
            if reference.source == "cloud":
                return False
            self._store.manifest_bytes(self._store.resolve(parse_name(reference.base)))
        except ModelNotFound:
            return True
        except ModelfilesError:
            return False
        return False

    def _summaries(self) -> list[Summary]:
        packages = self._store.packages()
        found = [self._summary(package) for package in packages]
        current = {package.digest for package in packages}
        for digest in self._told.keys() - current:
            self._told.pop(digest, None)
        return sorted(found, key=_last_changed_first)

    def _summary(self, package: Package) -> Summary:
        known = self._told.get(package.digest)
        if known is None:
            header = self._header_if_sound(package.model_paths)
            known = (details(package, header), capabilities(package, header, go_template=self._go_template))
            if header is not None:
                self._told[package.digest] = known
        return Summary(package, *known)

    def _header_if_sound(self, paths: tuple[Path, ...]) -> GGUF | None:
        """A model with damaged weights is listed all the same; running it says what is wrong."""
        if not paths:
            return None
        try:
            return self._headers.read(*paths)
        except (BadGGUF, OSError) as error:
            LOG.warning("cannot read %s: %s", paths[0], error)
            return None

    def _show(self, name: Name, options: ShowOptions) -> ShowInfo:
        package = self._store.load(name)
        read = _read_with_arrays if options.verbose else self._headers.read
        header = read(*package.model_paths) if package.model_paths else None
        projectors = [read(path) for path in package.projectors]
        return show(package, header, projectors, options, go_template=self._go_template)


def _read_with_arrays(*paths: Path) -> GGUF:
    return read_header(*paths, arrays=True)


def quantize(job: Job, done: Callable[[int], None]) -> None:
    """Does a job in a process of its own. QuantizeFailed."""
    importance = "" if job.importance is None else str(job.importance)
    order = Order(
        str(job.source),
        str(job.target),
        job.file_type,
        types=job.types,
        importance=importance,
        allow_requantize=job.allow_requantize,
    )
    run_quantizer(order, done)


def _last_changed_first(summary: Summary) -> tuple[int, str]:
    """By whole seconds, as Ollama does; equal ones by name."""
    return -(summary.package.modified_ns // 1_000_000_000), summary.package.name.display
