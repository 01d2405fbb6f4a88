"""The downloader against servers that misbehave: whatever they do, the file is right or there is none."""

import asyncio
import errno
import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrors.disk import Files
from mirrors.download import Downloader, Fetched
from mirrors.errors import DownloadFailed, NoRoom, NotPermitted, NotThere, Refused, Unreachable, WrongContent
from mirrors.http import HttpSettings
from mirrors.limits import Limits
from mirrors.sources import Source, Transfer, Wanted
from tests.mirrors.faults import Fault, Site, content, digest_of

MIB = 1 << 20
DATA = content(20 * MIB)
DIGEST = digest_of(DATA)
QUICK = Limits(
    first_byte_seconds=1.0,
    between_reads_seconds=0.5,
    longest_between_reads_seconds=1.0,
    give_up_seconds=20.0,
    ramp_seconds=0.2,
    reserve_bytes=0,
)
pytestmark = [
    pytest.mark.slow,
    # The server's side of connections that are broken off on purpose
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def wanted(*sources: Source, data: bytes = DATA, **more: object) -> Wanted:
    fields: dict[str, object] = {"digest": digest_of(data), "size": len(data), **more}
    return Wanted("pulling x", sources, **fields)  # type: ignore[arg-type]


class Watch:
    """Listens to a transfer, and holds that it never runs backwards."""

    def __init__(self) -> None:
        self.seen: list[Transfer] = []

    def __call__(self, transfer: Transfer) -> None:
        assert not self.seen or transfer.completed >= self.seen[-1].completed
        assert transfer.total is None or transfer.completed <= transfer.total
        self.seen.append(transfer)


async def fetch(folder: Path, want: Wanted, limits: Limits = QUICK, **more: object) -> bytes:
    """The bytes that a download brings; the file is taken away as a store would."""
    downloader = Downloader(folder, limits, HttpSettings(**more))  # type: ignore[arg-type]
    watch = Watch()
    try:
        async with asyncio.timeout(60):
            fetched = await downloader.fetch(want, watch)
        data = fetched.path.read_bytes()
        assert fetched.size == len(data) == watch.seen[-1].completed == watch.seen[-1].total
        fetched.done()
    finally:
        await downloader.close()
    assert kinds_in(folder) == [".lock"]
    return data


def kinds_in(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def damage(path: Path, offset: int) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"damage")


async def test_a_file_comes_whole(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert all(request.headers["Accept-Encoding"] == "identity" for request in site.requests)


@pytest.mark.parametrize("size", [0, 1, 3, 4096, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1])
async def test_any_size(tmp_path: Path, size: int) -> None:
    data = content(size)
    async with Site(data) as site:
        assert await fetch(tmp_path, wanted(site.source(), data=data)) == data
        if 0 < size < 8 * MIB:
            assert [request.start for request in site.requests] == [None]


async def test_nothing_is_known_beforehand(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        assert await fetch(tmp_path, wanted(site.source(), digest=None, size=None)) == DATA


FAULTS: dict[str, Callable[[], Fault]] = {
    "cut": lambda: Fault(cut=lambda number: 300_000 if number % 3 == 2 else None),
    "cut at once": lambda: Fault(cut=lambda number: 0 if number % 2 else None),
    "stall": lambda: Fault(stall=lambda number: 500_000 if number in (1, 3) else None),
    "range with 200": lambda: Fault(ranges="status200"),
    "range ignored": lambda: Fault(ranges="ignored"),
    "range shifted": lambda: Fault(ranges="shifted"),
    "whole file as 206": lambda: Fault(ranges="whole206"),
    "short ranges": lambda: Fault(ranges="short"),
    "no length": lambda: Fault(length=False),
    "503 first": lambda: Fault(statuses=[503] * 3),
    "429 first": lambda: Fault(statuses=[429, 429], headers={"Retry-After": "1"}),
    "pages first": lambda: Fault(statuses=[500, 502, 520], page="<h1>sorry</h1>"),
    "other etags": lambda: Fault(etags=lambda number: f'"{number}"'),
    "expiring": lambda: Fault(signed_seconds=0.5, rate=4 * MIB),
    "slow first byte": lambda: Fault(first_byte_seconds=0.5),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_faults_of_the_only_source(tmp_path: Path, name: str) -> None:
    async with Site(DATA, FAULTS[name]()) as site:
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert site.sent <= len(DATA) * 2


@pytest.mark.parametrize("ranges", ["unsaid", "multipart", "other"])
async def test_parts_that_prove_nothing_are_not_written(tmp_path: Path, ranges: str) -> None:
    async with Site(DATA, Fault(ranges=ranges)) as bad, Site(DATA) as good:
        assert await fetch(tmp_path, wanted(bad.source("bad"), good.source("good"))) == DATA
    async with Site(DATA, Fault(ranges=ranges)) as bad:
        with pytest.raises(WrongContent, match="bad"):
            await fetch(tmp_path, wanted(bad.source("bad")))


async def test_compression_is_refused(tmp_path: Path) -> None:
    async with Site(DATA, Fault(compressed=True)) as bad, Site(DATA) as good:
        assert await fetch(tmp_path, wanted(bad.source("bad"), good.source("good"))) == DATA
    async with Site(DATA, Fault(compressed=True)) as bad:
        with pytest.raises(WrongContent, match="gzip"):
            await fetch(tmp_path, wanted(bad.source()))


async def test_a_page_with_200_is_no_file(tmp_path: Path) -> None:
    async with Site(DATA, Fault(page="<html>Please <b>log in</b></html>")) as bad:
        with pytest.raises(WrongContent, match="Please log in"):
            await fetch(tmp_path, wanted(bad.source()))


async def test_one_of_three_lies(tmp_path: Path) -> None:
    """The lie is found without a checksum of its own, and nothing else is thrown away."""
    async with Site(DATA, Fault(flips=(3 * MIB,))) as liar, Site(DATA) as one, Site(DATA) as other:
        sources = liar.source("liar"), one.source("one"), other.source("other")
        assert await fetch(tmp_path, wanted(*sources)) == DATA


async def test_a_single_liar_is_convicted(tmp_path: Path) -> None:
    async with Site(DATA, Fault(flips=(3 * MIB,))) as liar:
        with pytest.raises(WrongContent, match=r"liar: .* the same the second time"):
            await fetch(tmp_path, wanted(liar.source("liar")))
    assert kinds_in(tmp_path) == [".bad", ".lock"]


async def test_a_wrong_beginning_is_seen_at_once(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        with pytest.raises(WrongContent, match="begins differently"):
            await fetch(tmp_path, wanted(site.source(), starts_with=(b"GGUF",)))
        assert site.sent < len(DATA)


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotThere), (403, NotPermitted), (401, NotPermitted), (503, Unreachable)]
)
async def test_refusals_have_their_errors(
    tmp_path: Path, status: int, kind: type[DownloadFailed]
) -> None:
    async with Site(DATA, Fault(then=status)) as site:
        limits = Limits(give_up_seconds=1.0, reserve_bytes=0)
        with pytest.raises(kind, match=f"only: .*{status}"):
            await fetch(tmp_path, wanted(site.source("only")), limits)


async def test_one_lacks_it_and_the_other_has_it(tmp_path: Path) -> None:
    async with Site(DATA, Fault(then=404)) as lacking, Site(DATA) as good:
        assert await fetch(tmp_path, wanted(lacking.source("l"), good.source("g"))) == DATA
        assert len(lacking.requests) <= 2


async def test_nobody_listens(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        source = site.source("gone")
    with pytest.raises(Unreachable, match="cannot be reached"):
        await fetch(tmp_path, wanted(source), Limits(give_up_seconds=1.0))


async def test_a_mirror_dies_midway(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=4 * MIB)) as dying, Site(DATA, Fault(rate=4 * MIB)) as living:
        task = asyncio.create_task(fetch(tmp_path, wanted(dying.source("d"), living.source("l"))))
        await dying.has_sent(4 * MIB)
        dying.dead = True
        assert await task == DATA
        assert dying.sent + living.sent < len(DATA) + 4 * MIB


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_redirects(tmp_path: Path, code: int) -> None:
    """What is for one origin does not go to another, and the signature arrives as it was given."""
    async with Site(DATA, host="127.0.0.2") as target:
        to = f"http://127.0.0.2:{target.port}/x?sig=a%2Fb%7Ec%3D"
        async with Site(DATA, Fault(redirect=lambda number: (code, to))) as site:
            source = site.source(headers={"Authorization": "Bearer s", "Cookie": "c=1", "X-Token": "t"})
            hosts = frozenset({"127.0.0.2"})
            assert await fetch(tmp_path, wanted(source), private_hosts=hosts) == DATA
            assert site.requests[0].headers["X-Token"] == "t"
            assert len(site.requests) == 1
        for request in target.requests:
            assert not {"Authorization", "Cookie", "X-Token"} & set(request.headers)
            assert request.path == "/x?sig=a%2Fb%7Ec%3D"


async def test_a_loop_of_redirects_ends(tmp_path: Path) -> None:
    async with Site(DATA, Fault(redirect=lambda number: (302, "/again"))) as site:
        with pytest.raises(Refused, match="redirects more than"):
            await fetch(tmp_path, wanted(site.source()))


async def test_private_addresses_need_permission(tmp_path: Path) -> None:
    async with Site(DATA) as inner, Site(DATA) as outer:
        source = Source(inner.url, "inner")
        with pytest.raises(Refused, match="not a public address"):
            await fetch(tmp_path, wanted(source))
        to = f"http://127.0.0.3:{inner.port}/metadata"
        outer.fault.redirect = lambda number: (302, to)
        public = lambda address: address == "127.0.0.1"  # noqa: E731
        with pytest.raises(Refused, match=r"127\.0\.0\.3"):
            await fetch(
                tmp_path, wanted(outer.source()), public=public, private_hosts=frozenset({"127.0.0.3"})
            )
        assert inner.requests == []


async def test_a_refused_token_is_renewed_once_for_all(tmp_path: Path) -> None:
    async with Site(DATA, Fault(secret="Bearer new")) as site:
        renewals = []

        async def renew() -> Source:
            renewals.append(1)
            return site.source(headers={"Authorization": "Bearer new"})

        source = site.source(headers={"Authorization": "Bearer old"}, renew=renew)
        assert await fetch(tmp_path, wanted(source)) == DATA
        assert len(renewals) == 1


async def test_resume_fetches_only_the_rest(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=3 * MIB)) as site:
        downloader = Downloader(tmp_path, QUICK, HttpSettings())
        task = asyncio.create_task(downloader.fetch(wanted(site.source()), Watch()))
        await site.has_sent(8 * MIB)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await downloader.close()
        first, site.fault.rate = site.sent, 0
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert site.sent <= len(DATA) + 2 * MIB
        assert first >= 8 * MIB


async def test_a_finished_file_that_found_no_place_needs_no_request(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        downloader = Downloader(tmp_path, QUICK, HttpSettings())
        with await downloader.fetch(wanted(site.source()), Watch()) as fetched:
            assert fetched.path.read_bytes() == DATA
        await downloader.close()
        before = len(site.requests)
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert len(site.requests) == before


async def test_damage_on_the_disk_is_repaired_alone(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        downloader = Downloader(tmp_path, QUICK, HttpSettings())
        with await downloader.fetch(wanted(site.source()), Watch()) as fetched:
            path = fetched.path
        await downloader.close()
        damage(path, 10 * MIB)
        before = site.sent
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert 0 < site.sent - before <= 8 * MIB


async def test_all_who_ask_share_one_transfer(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=8 * MIB)) as site:
        downloader = Downloader(tmp_path, QUICK, HttpSettings())
        watches = [Watch() for _ in range(3)]
        tasks = [asyncio.create_task(downloader.fetch(wanted(site.source()), watch)) for watch in watches]
        await site.has_sent(MIB)
        tasks[0].cancel()
        results: list[Fetched] = await asyncio.gather(*tasks[1:])
        for fetched in results:
            assert hashlib.sha256(fetched.path.read_bytes()).hexdigest() == DIGEST[7:]
        for fetched in results:
            fetched.done()
        assert site.sent < 1.5 * len(DATA)
        assert all(watch.seen[-1].completed == len(DATA) for watch in watches[1:])
        await downloader.close()


async def test_a_changing_file_without_a_digest_is_begun_anew(tmp_path: Path) -> None:
    other = content(len(DATA), seed=2)
    fault = Fault(
        etags=lambda number: '"one"' if number < 3 else '"two"',
        data=lambda number: DATA if number < 3 else other,
    )
    async with Site(DATA, fault) as site:
        assert await fetch(tmp_path, wanted(site.source(), digest=None, size=None)) == other


async def test_the_limit_is_kept_and_is_no_stall(tmp_path: Path) -> None:
    data = content(6 * MIB)
    async with Site(data) as site:
        began = asyncio.get_running_loop().time()
        limits = Limits(bytes_per_second=3 * MIB, between_reads_seconds=0.3, reserve_bytes=0)
        assert await fetch(tmp_path, wanted(site.source(), data=data), limits) == data
        assert 1.6 < asyncio.get_running_loop().time() - began < 3.0
        assert len(site.requests) == 1


async def test_slow_lines_are_left_in_peace(tmp_path: Path) -> None:
    data = content(200_000)
    async with Site(data, Fault(rate=64 << 10, first_byte_seconds=0.5)) as site:
        assert await fetch(tmp_path, wanted(site.source(), data=data)) == data
        assert sum(request.sent for request in site.requests) < len(data) * 1.1


async def test_a_slow_connection_does_not_decide_the_end(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=2 * MIB, slow={1: 20_000})) as site:
        began = asyncio.get_running_loop().time()
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert asyncio.get_running_loop().time() - began < 8


async def test_random_cuts(tmp_path: Path) -> None:
    luck = random.Random(5)
    cuts = [luck.choice([None, None, luck.randrange(1, 4 * MIB)]) for _ in range(1000)]
    async with Site(DATA, Fault(cut=lambda number: cuts[number % 1000])) as site:
        assert await fetch(tmp_path, wanted(site.source())) == DATA


async def test_a_host_that_says_when_is_left_alone_until_then(tmp_path: Path) -> None:
    refusal = Fault(statuses=[429], headers={"RateLimit": '"resolvers";r=0;t=2'}, rate=2 * MIB)
    async with Site(DATA, refusal) as strict, Site(DATA, Fault(rate=MIB / 4)) as other:
        assert await fetch(tmp_path, wanted(strict.source("s"), other.source("o"))) == DATA
        later = [request.at - strict.requests[0].at for request in strict.requests[1:]]
        assert later
        assert min(later) >= 1.9
        assert other.requests[0].at - strict.requests[0].at < 0.5


class Full(Files):
    """A disk that is full after so many bytes, until somebody makes room."""

    room = 6 * MIB

    def write_at(self, descriptor: int, data: memoryview, offset: int) -> None:
        if self.room < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        super().write_at(descriptor, data, offset)


async def test_a_full_disk_stops_it_and_what_came_is_kept(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=8 * MIB)) as site:
        downloader = Downloader(tmp_path, QUICK, HttpSettings(), files=Full())
        with pytest.raises(NoRoom, match="free some space"):
            await downloader.fetch(wanted(site.source()), Watch())
        await downloader.close()
        before = site.sent
        assert await fetch(tmp_path, wanted(site.source())) == DATA
        assert site.sent - before < len(DATA) - 4 * MIB


async def test_too_large_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    async with Site(DATA) as site:
        with pytest.raises(NoRoom, match="are free"):
            await fetch(tmp_path, wanted(site.source(), size=1 << 60))
        assert site.requests == []
