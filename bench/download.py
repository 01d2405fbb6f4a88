"""Downloads over the loopback: against curl and sha256sum, on slow connections, with one that crawls, with a
mirror that dies.

python -m bench.download [--megabytes 1024]

The unthrottled server hands files to the kernel (sendfile), so that what is measured is who receives.
"""

import asyncio
import contextlib
import hashlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Process
from pathlib import Path

import click
from aiohttp import web

from bench.ports import free_port
from mirrors.download import Downloader
from mirrors.http import HttpSettings
from mirrors.limits import Limits
from mirrors.sources import Access, Source, Wanted

MB = 1_000_000
RATE = 5 * MB


@click.command()
@click.option("--megabytes", default=1024, show_default=True, help="Size of the unthrottled download.")
@click.option("--folder", type=click.Path(exists=True, file_okay=False), help="Where to work.")
def main(megabytes: int, folder: str | None) -> None:
    """Print each figure beside what it is compared with."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        file, digest = make_file(place / "file", megabytes * MB)
        with Server(file) as server:
            curled = min(seconds(lambda: curl(server.url, place / "curled", digest)) for _ in range(3))
            ours = min(ours_in_process(place, [server.url], digest, megabytes * MB) for _ in range(3))
        ratio = curled / ours[0]
        click.echo(f"unthrottled      {ours[0]:6.2f} s, curl and sha256sum {curled:6.2f} s: {ratio:.2f}x")
        click.echo(f"memory           {ours[1]:6.0f} MB at most")
        throttled(place)


def throttled(place: Path) -> None:
    """The scenarios with a limit for each connection."""
    size = 240 * MB
    file, digest = make_file(place / "slow", size)
    with Server(file, rate=RATE) as server:
        one = size / RATE
        taken, _ = ours_in_process(place, [server.url], digest, size)
        click.echo(f"5 MB/s each      {taken:6.2f} s, one connection {one:6.2f} s: {one / taken:.2f}x")
    with Server(file, rate=RATE) as server:
        plain, _ = ours_in_process(place, [server.url], digest, size, connections=8)
    with Server(file, rate=RATE, slow_connection=3) as server:
        taken, _ = ours_in_process(place, [server.url], digest, size, connections=8)
        ideal = size / (RATE * 7.01)
        click.echo(f"one of 8 crawls  {taken:6.2f} s, ideal {ideal:6.2f} s: {taken / ideal:.2f}x")
        click.echo(f"none crawls      {plain:6.2f} s, ideal {size / RATE / 8:6.2f} s")
    size = 480 * MB
    file, digest = make_file(place / "longer", size)
    with Server(file, rate=RATE, dies_after=size // 4) as dying, Server(file, rate=RATE) as living:
        taken, _ = ours_in_process(place, [dying.url, living.url], digest, size, connections=16, of_host=8)
        # Both give 8 times the rate until one has given a quarter of the file; then there is one
        ideal = size / 2 / (16 * RATE) + size / 2 / (8 * RATE)
        click.echo(f"one mirror dies  {taken:6.2f} s, ideal {ideal:6.2f} s: {taken / ideal:.2f}x")


def make_file(path: Path, size: int) -> tuple[Path, str]:
    """Random bytes, and their digest."""
    digest = hashlib.sha256()
    block = os.urandom(MB)
    with open(path, "wb") as file:
        for number in range(size // MB):
            piece = block[number % 1000 :] + block[: number % 1000]
            file.write(piece)
            digest.update(piece)
    return path, "sha256:" + digest.hexdigest()


def seconds(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def curl(url: str, target: Path, digest: str) -> None:
    target.unlink(missing_ok=True)
    subprocess.run(["curl", "-sf", "-o", str(target), url], check=True)
    done = subprocess.run(["sha256sum", str(target)], check=True, capture_output=True, text=True)
    if done.stdout.split()[0] != digest[7:]:
        raise RuntimeError("curl's file is wrong")


def ours_in_process(
    place: Path, urls: list[str], digest: str, size: int, connections: int = 16, of_host: int = 16
) -> tuple[float, float]:
    """Seconds and the most memory (MB) of a download in a process of its own, without its start."""
    command = [sys.executable, "-m", "bench.download", "--child", str(place / "partial"), digest, str(size)]
    command += [str(connections), str(of_host), *urls]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken, memory = done.stdout.split()
    return float(taken), float(memory)


async def child(
    folder: Path, digest: str, size: int, connections: int, of_host: int, urls: list[str]
) -> None:
    sources = tuple(Source(url, url, access=Access(private=True)) for url in urls)
    limits = Limits(connections=connections, connections_of_host=of_host)
    downloader = Downloader(folder, limits, HttpSettings())
    began = time.perf_counter()
    fetched = await downloader.fetch(Wanted("a blob", sources, digest, size), lambda transfer: None)
    taken = time.perf_counter() - began
    fetched.done()
    await downloader.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{taken} {memory}\n")


class Server:
    """A web server in a process of its own, with one file."""

    def __init__(self, file: Path, rate: float = 0, slow_connection: int = -1, dies_after: int = 0) -> None:
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/file"
        self._process = Process(
            target=serve, args=(self._port, file, rate, slow_connection, dies_after), daemon=True
        )

    def __enter__(self) -> "Server":
        self._process.start()
        while True:
            address = ("127.0.0.1", self._port)
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(address):
                return self
            time.sleep(0.05)

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.join()


def serve(port: int, file: Path, rate: float, slow_connection: int, dies_after: int) -> None:
    """Runs until it is killed, or has sent `dies_after` bytes. A connection stays slow or is not."""
    size = file.stat().st_size
    descriptor = os.open(file, os.O_RDONLY)
    connections: dict[int, int] = {}
    sent = 0

    async def throttled_answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        number = connections.setdefault(id(request.protocol), len(connections))
        mine = rate / 100 if number == slow_connection else rate
        part = request.http_range
        start, end = part.start or 0, part.stop or size
        response = web.StreamResponse(status=206)
        response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        response.content_length = end - start
        await response.prepare(request)
        began, at = time.monotonic(), start
        while at < end:
            data = os.pread(descriptor, min(int(mine / 20), end - at), at)
            with contextlib.suppress(ConnectionError):
                await response.write(data)
            at, sent = at + len(data), sent + len(data)
            if dies_after and sent > dies_after:
                os._exit(0)
            if request.transport is None:
                break
            await asyncio.sleep(max(0.0, began + (at - start) / mine - time.monotonic()))
        return response

    async def answer(request: web.Request) -> web.StreamResponse:
        return await throttled_answer(request) if rate else web.FileResponse(file)

    application = web.Application()
    application.router.add_get("/file", answer)
    web.run_app(application, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        folder, digest, size, connections, of_host, *urls = sys.argv[2:]
        asyncio.run(child(Path(folder), digest, int(size), int(connections), int(of_host), urls))
    else:
        main()
