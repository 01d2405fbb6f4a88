"""Pulls: from a name to a model in the store, as one stream of progress. Knows no dialect.

Small blobs come first, so that a model whose last two hundred bytes cannot be had fails before the gigabytes
are fetched. Nothing has its final name before it is proven by its digest, and the model has none before all
of it is there. Whoever stops reading stops the pull; what came stays for the next one.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mirrors.asking import Web
from mirrors.errors import BadAnswer, NoRoom, NotThere, Unreachable
from mirrors.sites.finding import Sites
from mirrors.sites.plans import FilesPlan, ManifestPlan
from mirrors.sources import Access, Transfer, Wanted
from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BlobNotFound, ModelfilesError, StoreError
from modelfiles.names import Name
from modelfiles.package import parse_manifest
from modelfiles.store import Store
from shim.bridge import Threads
from shim.pull_target import Target, target_of
from shim.texts_beside import request_of
from shim.transfers import PullProgress, Transfers, already_there

LOG = logging.getLogger("shim.pulling")

SMALL_BYTES = 8 << 20
_SMALL_WIDTH = 4
# A blob that is about to be named may be removed by someone who deletes the last model that had it
_ATTEMPTS = 3
_RESERVE_BYTES = 64 << 20


class Fetched(Protocol):
    """A file that came whole and is proven; see `mirrors.download`. Its `with` block lets go of it."""

    path: Path
    digest: str
    present: bool  # it is in its place already

    def done(self) -> None:
        """It has got its place, and whatever was kept for it can go."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(self, *exception: object) -> None: ...


class Downloads(Protocol):
    """Who fetches blobs; see `mirrors.download.Downloader`."""

    async def fetch(self, wanted: Wanted, progress: Callable[[Transfer], None]) -> Fetched:
        """Raises MirrorsError."""
        ...


@dataclass(frozen=True, slots=True)
class PullRequest:
    """`is_local` tells that a user of this machine asks: he may name hosts of the inner network."""

    model: str
    insecure: bool = False
    is_local: bool = False


class Pulls:
    """Made once; any number of pulls may run at the same time, and they share what they have in common."""

    def __init__(self, store: Store, threads: Threads, sites: Sites, web: Web, downloads: Downloads, *,
                 noprune: bool = False) -> None:  # fmt: skip
        self._store = store
        self._threads = threads
        self._sites = sites
        self._web = web
        self._downloads = downloads
        self._noprune = noprune

    def pull(self, request: PullRequest) -> AsyncGenerator[PullProgress, None]:
        """Everything that happens; the last item is `success`. ApiError at once for a name that is none."""
        return self._pull(target_of(request.model), Access(request.is_local, request.insecure))

    async def fetch(self, model: str, *, is_local: bool) -> AsyncGenerator[Progress, None]:
        """A pull as the first part of another job: without its end, and in that job's words."""
        async with aclosing(self.pull(PullRequest(model, is_local=is_local))) as steps:
            async for item in steps:
                if item.status != "success":
                    yield Progress(item.status, item.digest, item.total, item.completed)

    async def _pull(self, target: Target, access: Access) -> AsyncGenerator[PullProgress, None]:
        yield PullProgress("pulling manifest")
        name = await self._threads.run(self._store.resolve, target.name)
        for problem in self._sites.mirrors.problems:
            LOG.warning("mirrors: %s", problem)
        try:
            plan = await self._sites.plan(target.reference, self._web, access)
        except (Unreachable, NotThere) as error:
            # Programs pull before every use. What is here, whole, is as good as they can have it now.
            if not await self._threads.run(self._is_here, name):
                raise
            LOG.info("%s stays as it is: %s", name.display, error)
            yield PullProgress(f"keeping {name.display} as it is here: {error}")
            yield PullProgress("success")
            return
        for note in plan.notes:
            yield PullProgress(note)
        steps = self._files(name, plan) if isinstance(plan, FilesPlan) else self._manifest(name, plan)
        async with aclosing(steps):
            async for item in steps:
                yield item

    async def _manifest(self, name: Name, plan: ManifestPlan) -> AsyncGenerator[PullProgress, None]:
        try:
            wanted_digests = set(parse_manifest(plan.manifest).digests)
        except StoreError as error:
            raise BadAnswer(f"pull model manifest: {error}") from error
        for attempt in range(1, _ATTEMPTS + 1):
            blobs = self._blobs(plan.blobs, {})
            async with aclosing(blobs):
                async for item in blobs:
                    yield item
            if attempt == 1:
                yield PullProgress("verifying sha256 digest")
                yield PullProgress("writing manifest")
            previous = await self._threads.run(self._digests_of, name)
            try:
                await self._threads.run(self._name, name, plan)
            except BlobNotFound:
                if attempt == _ATTEMPTS:
                    raise
                continue
            if previous - wanted_digests and not self._noprune:
                yield PullProgress("removing unused layers")
            yield PullProgress("success")
            return

    async def _files(self, name: Name, plan: FilesPlan) -> AsyncGenerator[PullProgress, None]:
        """Files come first, and the model is made of them as `create` makes one."""
        digests: dict[str, str] = {}
        blobs = self._blobs(list(plan.files.values()), digests)
        async with aclosing(blobs):
            async for item in blobs:
                yield item
        request = _request_of(name, plan, {file: digests[wanted.name] for file, wanted in plan.files.items()})

        def work(report: Callable[[Progress], None]) -> None:
            create(self._store, request, report)

        steps = self._threads.progress(work)
        async with aclosing(steps):
            async for step in steps:
                yield PullProgress(step.status, step.digest, step.total, step.completed)

    async def _blobs(
        self, blobs: Sequence[Wanted], digests: dict[str, str]
    ) -> AsyncGenerator[PullProgress, None]:
        """Fetch what is not there; `digests` gets each blob's by its name."""
        missing = []
        for wanted in blobs:
            size = await self._threads.run(self._size_of, wanted)
            if size is None:
                missing.append(wanted)
            else:
                digests[wanted.name] = wanted.digest or ""
                yield already_there(wanted, size)
        await self._threads.run(self._check_room, missing)
        small = [wanted for wanted in missing if wanted.size is not None and wanted.size < SMALL_BYTES]
        large = [wanted for wanted in missing if wanted not in small]
        for group, width in ((small, _SMALL_WIDTH), (large, 1)):
            transfers = Transfers(self._fetch, group, width)
            async with aclosing(transfers.progress()) as steps:
                async for item in steps:
                    yield item
            digests |= {wanted.name: digest for wanted, digest in zip(group, transfers.digests, strict=True)}

    async def _fetch(self, wanted: Wanted, report: Callable[[Transfer], None]) -> str:
        if wanted.digest is not None and wanted.size is not None:
            await self._threads.run(self._store.drop_damaged, wanted.digest, wanted.size)
        fetched = await self._downloads.fetch(wanted, report)
        with fetched:
            if not fetched.present:
                await self._threads.run_through(self._store.take_file, fetched.path, fetched.digest)
                fetched.done()
            return fetched.digest

    def _size_of(self, wanted: Wanted) -> int | None:
        """The size of the blob here; None if it is not here, or is not what it should be."""
        size = None if wanted.digest is None else self._store.blob_size(wanted.digest)
        return size if wanted.size in (None, size) else None

    def _check_room(self, missing: Sequence[Wanted]) -> None:
        """Before the first byte of the first blob, for all of them."""
        needed = sum(wanted.size or 0 for wanted in missing)
        folder = self._store.root
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if needed and needed + _RESERVE_BYTES > free:
            raise NoRoom(
                f"no space left on device: the model needs {needed} bytes, but {folder} has only {free} left",
                needed,
                free,
            )

    def _is_here(self, name: Name) -> bool:
        digests = self._digests_of(name)
        return bool(digests) and all(self._store.blob_size(digest) is not None for digest in digests)

    def _digests_of(self, name: Name) -> set[str]:
        """What the name stood for until now."""
        try:
            return set(self._store.manifest(name).digests)
        except ModelfilesError:
            return set()

    def _name(self, name: Name, plan: ManifestPlan) -> None:
        for wanted in plan.blobs:
            if wanted.digest is not None:
                self._store.use_blob(wanted.digest, "")
        self._store.write_manifest(name, plan.manifest)


def _request_of(name: Name, plan: FilesPlan, files: Mapping[str, str]) -> CreateRequest:
    """The model that these files and texts make. BadAnswer for parameters that are none."""
    try:
        return request_of(name, files, plan.texts)
    except ValueError as error:
        raise BadAnswer(f"the repository's file params {error}") from error
