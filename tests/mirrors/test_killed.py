"""kill -9 at fifty random moments of one download, and two processes that want the same blob."""

import asyncio
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.mirrors.faults import Fault, Site, content, digest_of

REPOSITORY = Path(__file__).parents[2]
MIB = 1 << 20
KILLS = 50
DATA = content(96 * MIB, seed=3)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


async def start(folder: Path, site: Site) -> asyncio.subprocess.Process:
    arguments = [str(folder / "partial"), str(folder / "blob"), digest_of(DATA), str(len(DATA)), site.url]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.mirrors.killing", *arguments, cwd=REPOSITORY
    )


def right_or_absent(path: Path) -> bool:
    """Whether the blob is there; it must never be there with other content."""
    if not path.exists():
        return False
    assert path.read_bytes() == DATA
    return True


async def test_killed_fifty_times(tmp_path: Path) -> None:
    luck = random.Random(7)
    async with Site(DATA, Fault(rate=MIB)) as site:
        kills = 0
        while not right_or_absent(tmp_path / "blob"):
            process = await start(tmp_path, site)
            if kills == KILLS:
                assert await process.wait() == 0
                continue
            before, step = site.sent, luck.randrange(0, int(1.5 * len(DATA)) // KILLS)
            waiting = asyncio.create_task(site.has_sent(before + step))
            ending = asyncio.create_task(process.wait())
            await asyncio.wait({waiting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            waiting.cancel()
            await ending
        again = site.sent - len(DATA)
        assert kills == KILLS
        assert again <= 0.2 * len(DATA)


async def test_two_processes_share_one_download(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=16 * MIB)) as site:
        one, other = await start(tmp_path, site), await start(tmp_path, site)
        assert await one.wait() == 0
        assert await other.wait() == 0
        assert right_or_absent(tmp_path / "blob")
        assert site.sent <= 1.05 * len(DATA)


async def test_the_other_takes_over_when_the_first_is_killed(tmp_path: Path) -> None:
    async with Site(DATA, Fault(rate=4 * MIB)) as site:
        one, other = await start(tmp_path, site), await start(tmp_path, site)
        await site.has_sent(16 * MIB)
        owner = one if str(one.pid) in next((tmp_path / "partial").glob("*.lock")).read_text() else other
        owner.kill()
        await owner.wait()
        killed, requests = time.monotonic(), len(site.requests)
        assert await (other if owner is one else one).wait() == 0
        assert site.requests[requests].at - killed < 2
        assert right_or_absent(tmp_path / "blob")
        assert site.sent <= 1.1 * len(DATA)
