"""All bytes are there, and the digest is wrong: finds the bad ones and gets them anew, leaving the good ones.

First what the disk damaged: those bytes differ from the checksum they had when they came. Then what a source
sent wrong: bytes are asked for again, from another source than the one they came from, and compared. Bytes
that come the second time are held in memory until they are known to differ, so good ones are never lost.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import aiohttp

from mirrors.answers import Accepted, Asked, judge
from mirrors.errors import MirrorsError, WrongContent
from mirrors.fetching import Fetching
from mirrors.http import HttpClient
from mirrors.journal import Run
from mirrors.parts import MIB
from mirrors.resolver import explain
from mirrors.standing import Standing

PIECE_BYTES = 4 * MIB
_TRIES = 4
_SECONDS_WITHOUT_A_BYTE = 60.0


@dataclass(slots=True)
class Findings:
    """What asking again has shown, by mirror: bytes compared, bytes that differed."""

    compared: dict[str, int] = field(default_factory=dict)
    differed: dict[str, int] = field(default_factory=dict)
    refetched: int = 0


class Repair:
    """Repairs the file of a download that is complete. One use."""

    def __init__(self, fetching: Fetching, client: HttpClient) -> None:
        self._fetching, self._client = fetching, client
        self._work, self._writer = fetching.writer.work, fetching.writer
        self.findings = Findings()

    async def damaged_on_disk(self) -> bool:
        """Unclaims bytes that are not as they came; whether there are any. They are then to be fetched."""
        found = False
        loop = asyncio.get_running_loop()
        for run in list(self._work.runs.values()):
            points = await loop.run_in_executor(None, self._work.good_points, run)
            if points < len(run.points):
                self._fetching.plan.add(*await self._writer.in_thread_forget(run.start, points))
                found = True
        return found

    async def compare(self, digest: str) -> None:
        """Asks again for what may be wrong until the digest is right. Raises WrongContent."""
        for run in self._suspects():
            changed = False
            for start, end in _pieces(run):
                changed |= await self._compare_piece(run, start, end)
            if changed and await self._writer.digest(again=True) == digest:
                return
        raise self._failure(digest)

    def _suspects(self) -> list[Run]:
        """First what came from sources that misbehaved, then from the slowest."""
        standings = {one.source.mirror: one for one in self._fetching.standings}

        def rank(run: Run) -> tuple[int, float]:
            standing = standings.get(run.mirror)
            return (-standing.anomalies, standing.rate) if standing else (-1000, 0.0)

        return sorted(self._work.runs.values(), key=rank)

    async def _compare_piece(self, run: Run, start: int, end: int) -> bool:
        """Whether the piece was replaced by what somebody else says."""
        others = sorted(self._fetching.standings, key=lambda one: (one.source.mirror == run.mirror, one.rank))
        data = None
        for standing in others:
            data = await self._again(standing, start, end)
            if data is not None:
                break
        findings, mirror = self.findings, run.mirror
        findings.compared[mirror] = findings.compared.get(mirror, 0) + end - start
        self._fetching.note = f"repairing {sum(findings.compared.values())} of {self._fetching.size}"
        if data is None or data == b"".join(self._work.read(start, end)):
            return False
        findings.differed[mirror] = findings.differed.get(mirror, 0) + end - start
        await self._writer.replace(start, data)
        return True

    async def _again(self, standing: Standing, start: int, end: int) -> bytes | None:
        """Those bytes from this source, over a connection of its own; None if it cannot be had."""
        if standing.dropped is not None:
            return None
        for _ in range(_TRIES):
            try:
                data = await self._request(standing, start, end)
            except (MirrorsError, aiohttp.ClientError, OSError) as error:
                standing.last_error = explain(error, standing.source.host)
                continue
            if data is not None:
                self.findings.refetched += len(data)
                return data
        return None

    async def _request(self, standing: Standing, start: int, end: int) -> bytes | None:
        source = standing.source
        headers = {"Range": f"bytes={start}-{end - 1}", "Connection": "close"}
        async with (
            asyncio.timeout(None) as patience,
            self._client.request("GET", source.url, headers, source.headers, source.access) as answer,
        ):
            asked = Asked(start, end, self._fetching.size, ranged=False)
            verdict = judge(asked, answer.response.status, answer.response.headers)
            if not isinstance(verdict, Accepted):
                return None
            held, skip = bytearray(), verdict.skip
            while len(held) < end - start:
                patience.reschedule(asyncio.get_running_loop().time() + _SECONDS_WITHOUT_A_BYTE)
                data = await answer.response.content.readany()
                if not data:
                    return None
                held += data[skip:]
                skip = max(0, skip - len(data))
            return bytes(held[: end - start])

    def _failure(self, digest: str) -> WrongContent:
        lines = []
        for mirror, compared in self.findings.compared.items():
            differed = self.findings.differed.get(mirror, 0)
            what = f"{differed} of them differed the second time" if differed else "the same the second time"
            lines.append(f"{mirror}: {compared} bytes asked for again, {what}")
        name = self._fetching.wanted.name
        return WrongContent(f"{name}: what the sources send does not have the digest {digest}", tuple(lines))


def _pieces(run: Run) -> Iterator[tuple[int, int]]:
    for start in range(run.start, run.end, PIECE_BYTES):
        yield start, min(start + PIECE_BYTES, run.end)
