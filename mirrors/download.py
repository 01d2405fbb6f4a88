"""Downloads blobs: several connections and sources at once, resumable after anything, verified, shared.

All who want the same blob share one transfer, also across processes; it is cancelled when the last of them
leaves, and what has come is kept. Whoever gets a `Fetched` puts its file where it belongs and says `done()`.
"""

import asyncio
import hashlib
import os
import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mirrors import journal
from mirrors.backoff import Backoff
from mirrors.disk import Files, WorkFile, as_disk_error, remove
from mirrors.errors import DownloadFailed, WrongContent
from mirrors.fetching import Fetching
from mirrors.http import HttpClient, HttpSettings
from mirrors.journal import Header
from mirrors.limits import Bucket, Limits
from mirrors.probe import probe
from mirrors.repair import Repair
from mirrors.shared import BlobLock
from mirrors.sources import Transfer, Wanted
from mirrors.space import check_room
from mirrors.standing import Hosts

_POLL_SECONDS = 0.25
_MOST_REPAIRS = 3
_CHANGED_TRIES = 3
_FILE_MODE = 0o644

Progress = Callable[[Transfer], None]


@dataclass(slots=True)
class _Holding:
    """A finished file, its lock, and how many still have to do with it."""

    folder: Path
    key: str
    lock: BlobLock
    users: int = 0
    adopted: bool = False

    def leave(self) -> None:
        self.users -= 1
        if self.users == 0:
            if self.adopted:
                remove(self.folder, self.key)
            self.lock.release()


class Fetched:
    """A verified file. Ends by `done()`: it has its place; or by `release()`: it is kept for the next try.

    A `with` block releases it. Where the blob was in its place before, `present` is true and both do nothing.
    """

    def __init__(self, path: Path, digest: str, size: int, holding: _Holding | None = None) -> None:
        self.path, self.digest, self.size = path, digest, size
        self.present = holding is None
        self._holding = holding

    def __enter__(self) -> "Fetched":
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def done(self) -> None:
        """The file has been linked, renamed or copied to where it belongs. Raises DiskFailed."""
        if self._holding is not None:
            self._holding.adopted = True
        self.release()

    def release(self) -> None:
        holding, self._holding = self._holding, None
        if holding is not None:
            holding.leave()


@dataclass(slots=True, frozen=True)
class _Result:
    path: Path
    digest: str
    size: int
    holding: _Holding | None


class _Job:
    """One transfer and all who listen to it."""

    def __init__(self) -> None:
        self.listeners: dict[object, Progress] = {}
        self.latest: Transfer | None = None
        self.task: asyncio.Task[_Result] | None = None

    def tell(self, transfer: Transfer) -> None:
        self.latest = transfer
        for listener in list(self.listeners.values()):
            listener(transfer)


class Downloader:
    """One a process. `folder` is for unfinished files, best on the disk where blobs end up.

    `present(digest)` says where a blob is that needs no fetching: others may have put it there meanwhile.
    """

    def __init__(
        self,
        folder: Path,
        limits: Limits | None = None,
        http: HttpSettings | None = None,
        present: Callable[[str], Path | None] = lambda digest: None,
        files: Files | None = None,
    ) -> None:
        self.folder = folder
        self.limits = limits or Limits()
        self._http = http or HttpSettings(environment=os.environ)
        self._present, self._files = present, files
        self._hosts = Hosts(self.limits)
        self._bucket = Bucket(self.limits.bytes_per_second)
        self._client: HttpClient | None = None
        self._jobs: dict[str, _Job] = {}

    @property
    def client(self) -> HttpClient:
        """For requests beside blobs, with the same rules. Inside a running event loop."""
        if self._client is None:
            self._client = HttpClient(replace(self._http, connect_seconds=self.limits.connect_seconds))
        return self._client

    async def close(self) -> None:
        """Ends all transfers in good order."""
        for job in list(self._jobs.values()):
            if job.task is not None:
                job.task.cancel()
                await asyncio.wait([job.task])
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def fetch(self, wanted: Wanted, progress: Progress) -> Fetched:
        """The blob as a verified file. Raises DownloadFailed and its kinds."""
        key = _key(wanted)
        job = self._jobs.get(key)
        if job is None or job.task is None or job.task.done():
            job = self._jobs[key] = _Job()
            job.task = asyncio.create_task(self._carry_out(wanted, key, job))
        me = object()
        job.listeners[me] = progress
        if job.latest is not None:
            progress(job.latest)
        try:
            result = await asyncio.shield(job.task)
            if result.holding is not None:
                result.holding.users += 1
            return Fetched(result.path, result.digest, result.size, result.holding)
        finally:
            del job.listeners[me]
            if not job.listeners:
                await self._end(key, job)

    async def _end(self, key: str, job: _Job) -> None:
        """The last listener leaves: a transfer that still runs is cancelled, and ends in good order."""
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if job.task is None:
            return
        job.task.cancel()
        while not job.task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([job.task])
        if job.task.cancelled() or job.task.exception() is not None:
            return
        holding = job.task.result().holding
        if holding is not None and holding.users == 0:  # it was ready in the very moment
            holding.users = 1
            holding.leave()

    async def _carry_out(self, wanted: Wanted, key: str, job: _Job) -> _Result:
        lock = await self._locked(wanted, key, job)
        if lock is None:
            return self._there(wanted)
        try:
            if not lock.works():
                key = f"{key}-{os.getpid()}-{secrets.token_hex(4)}"
            result = await self._fetch_known(wanted, key, lock, job)
        except BaseException:
            lock.release()
            raise
        return result

    async def _locked(self, wanted: Wanted, key: str, job: _Job) -> BlobLock | None:
        """The right to fetch it, waited for while another process does; None once the blob is present."""
        lock = BlobLock(self.folder / f"{key}.lock")
        shown = 0
        while True:
            with as_disk_error(f"cannot use {self.folder}"):
                taken = lock.take()
            if wanted.digest is not None and self._present(wanted.digest) is not None:
                lock.release()
                return None
            if taken:
                return lock
            shown = max(shown, await asyncio.to_thread(self._done_by_other, key))
            mirror = wanted.sources[0].mirror
            job.tell(Transfer(shown, wanted.size, 0.0, None, mirror, "another process fetches it"))
            await asyncio.sleep(_POLL_SECONDS)

    def _done_by_other(self, key: str) -> int:
        """How many bytes another process has, from its journal."""
        try:
            data = (self.folder / f"{key}.journal").read_bytes()
        except OSError:
            return 0
        header = journal.read_header(data)
        account = journal.read(data, header) if header is not None else None
        return account.claimed.total if account is not None else 0

    def _there(self, wanted: Wanted) -> _Result:
        path = self._present(wanted.digest or "")
        if path is None:
            raise DownloadFailed(f"{wanted.name} was there and is gone again; pull it once more")
        return _Result(path, wanted.digest or "", path.stat().st_size, None)

    async def _fetch_known(self, wanted: Wanted, key: str, lock: BlobLock, job: _Job) -> _Result:
        """Finds out the size where it is not known. A file that changes under way is begun anew."""
        if wanted.size is not None:
            return await self._fetch_sized(wanted, key, lock, job)
        for _ in range(_CHANGED_TRIES - 1):
            try:
                return await self._fetch_probed(wanted, key, lock, job)
            except WrongContent:
                if wanted.digest is not None:
                    raise
        return await self._fetch_probed(wanted, key, lock, job)

    async def _fetch_probed(self, wanted: Wanted, key: str, lock: BlobLock, job: _Job) -> _Result:
        found = await probe(wanted, self.client, Backoff(random.random), self.limits.give_up_seconds)
        # Without a digest nothing says that two sources have the same file: then one must do
        sources = wanted.sources if wanted.digest is not None else (found.source,)
        return await self._fetch_sized(replace(wanted, sources=sources, size=found.size), key, lock, job)

    async def _fetch_sized(self, wanted: Wanted, key: str, lock: BlobLock, job: _Job) -> _Result:
        size = wanted.size or 0
        etag = wanted.sources[0].etag if wanted.digest is None else ""
        await asyncio.to_thread(check_room, self.folder, key, size, self.limits)
        header = Header(key, wanted.digest or "", size, etag)
        work = await asyncio.to_thread(WorkFile, self.folder, header, self._files)
        fetching = Fetching(wanted, work, self.client, self._hosts, self.limits, self._bucket, job.tell)
        try:
            digest = await self._verified(fetching)
            with as_disk_error(f"cannot change {work.path}"):
                os.fchmod(work.descriptor, _FILE_MODE)
        except WrongContent:
            await fetching.writer.finish(orderly=False)
            if wanted.digest is not None and fetching.plan.finished:
                self._put_aside(key)
            raise
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(fetching.writer.finish(orderly=False)))
            raise
        await fetching.writer.finish(orderly=True)
        return _Result(work.path, digest, size, _Holding(self.folder, key, lock))

    async def _verified(self, fetching: Fetching) -> str:
        """Fetches and hashes until the digest is right; returns it. Raises WrongContent."""
        loop = asyncio.get_running_loop()
        wanted = fetching.wanted
        again = False
        for _ in range(_MOST_REPAIRS):
            await fetching.fetch()
            fetching.tell(loop.time(), "verifying")
            digest = await fetching.writer.digest(again=again)
            if wanted.digest is None or digest == wanted.digest:
                return digest
            repair = Repair(fetching, self.client)
            fetching.tell(loop.time(), "repairing")
            again = True
            if not await repair.damaged_on_disk():
                await repair.compare(wanted.digest)
                return wanted.digest
        raise WrongContent(f"{wanted.name}: the disk does not keep what is written to it")

    def _put_aside(self, key: str) -> None:
        """Nothing of it can be trusted; it stays for a look, and the next pull begins anew."""
        with as_disk_error(f"cannot rename files in {self.folder}"):
            (self.folder / f"{key}.data").rename(self.folder / f"{key}.bad")
            (self.folder / f"{key}.journal").unlink(missing_ok=True)


def _key(wanted: Wanted) -> str:
    """The name of its unfinished files: the digest, or that of its first address."""
    if wanted.digest is not None:
        kind, _, text = wanted.digest.partition(":")
        if kind != "sha256" or len(text) != 64 or set(text) - set("0123456789abcdef"):
            raise WrongContent(f"{wanted.name}: {wanted.digest[:80]!r} is no SHA-256 digest")
        return text
    return "url-" + hashlib.sha256(wanted.sources[0].url.encode()).hexdigest()
