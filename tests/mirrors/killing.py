"""Downloads one blob in a process of its own, to be killed from outside at any moment.

    python -m tests.mirrors.killing FOLDER TARGET DIGEST SIZE URL...

Prints "done" once the file lies at TARGET, as a store would put it there.
"""

import asyncio
import os
import sys
from pathlib import Path

from mirrors.download import Downloader
from mirrors.http import HttpSettings
from mirrors.limits import Limits
from mirrors.sources import Access, Source, Wanted


async def download(folder: Path, target: Path, digest: str, size: int, urls: list[str]) -> None:
    sources = tuple(Source(url, url, access=Access(private=True)) for url in urls)
    downloader = Downloader(
        folder,
        Limits(ramp_seconds=0.2, reserve_bytes=0),
        HttpSettings(),
        lambda digest: target if target.exists() else None,
    )
    fetched = await downloader.fetch(Wanted("a blob", sources, digest, size), lambda transfer: None)
    if not fetched.present:
        os.rename(fetched.path, target)
        fetched.done()
    await downloader.close()


if __name__ == "__main__":
    folder, target, digest, size, *urls = sys.argv[1:]
    asyncio.run(download(Path(folder), Path(target), digest, int(size), urls))
    sys.stdout.write("done\n")
