"""A web server on the loopback that serves one made-up file, rightly or with any fault one can think of.

`Site` is the server; `Fault` says how it misbehaves. It writes down every request, so that tests can say what
was asked for and how many bytes went over the wire. Other addresses of 127/8 stand in for other hosts.
"""

import asyncio
import gzip
import hashlib
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from mirrors.sources import Access, Source

BLOCK = 64 << 10


def content(size: int, seed: int = 1) -> bytes:
    """A file that looks random and is the same every time."""
    return random.Random(seed).randbytes(size)


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Request:
    """What was asked, and how many bytes of the answer's body were sent."""

    path: str
    start: int | None
    end: int | None
    headers: dict[str, str]
    at: float
    sent: int = 0


@dataclass
class Fault:
    """All ways to misbehave; the default is none. Requests are numbered from 0.

    `rate` is for each connection, in bytes a second; `slow` gives single requests a rate of their own.
    `statuses` are answered first, one a request; None in it stands for a right answer.
    """

    rate: float = 0
    slow: dict[int, float] = field(default_factory=dict)
    cut: Callable[[int], int | None] = lambda number: None  # body bytes after which the connection breaks
    stall: Callable[[int], int | None] = lambda number: None  # body bytes after which nothing comes any more
    first_byte_seconds: float = 0
    ranges: str = "right"  # ignored | status200 | shifted | whole206 | short | unsaid | multipart
    length: bool = True
    flips: tuple[int, ...] = ()
    statuses: list[int | None] = field(default_factory=list)
    then: int | None = None  # what is answered after all of `statuses`
    headers: dict[str, str] = field(default_factory=dict)
    page: str = ""  # goes with `statuses`; without these it is sent with 200 instead of the file
    compressed: bool = False
    etags: Callable[[int], str] = lambda number: '"same"'
    redirect: Callable[[int], tuple[int, str] | None] = lambda number: None
    signed_seconds: float = 0  # how long `/signed/...` addresses are good
    secret: str = ""  # Authorization without which the answer is 401
    data: Callable[[int], bytes | None] = lambda number: None  # another file for this request


class Site:
    """One server. Use as `async with`."""

    def __init__(self, data: bytes, fault: Fault | None = None, host: str = "127.0.0.1") -> None:
        self.data, self.fault, self.host = data, fault or Fault(), host
        self.requests: list[Request] = []
        self.port = 0
        self._runner: web.ServerRunner | None = None
        self._began = time.monotonic()
        self.dead = False
        self._awaited: list[tuple[int, asyncio.Event]] = []

    async def __aenter__(self) -> "Site":
        server = web.Server(self._answer, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.dead = True
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/file"

    async def has_sent(self, count: int) -> None:
        """Returns once so many bytes have gone out in all."""
        event = asyncio.Event()
        self._awaited.append((count, event))
        await event.wait()

    @property
    def sent(self) -> int:
        return sum(request.sent for request in self.requests)

    def source(self, mirror: str = "a", path: str = "/file", **more: object) -> Source:
        url = f"http://{self.host}:{self.port}{path}"
        return Source(url, mirror, access=Access(private=True), **more)  # type: ignore[arg-type]

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        number = len(self.requests)
        start, end = _range(request.headers.get("Range", ""))
        noted = Request(str(request.rel_url), start, end, dict(request.headers), time.monotonic())
        self.requests.append(noted)
        fault = self.fault
        if self.dead:
            _break(request)
        await asyncio.sleep(fault.first_byte_seconds)
        refusal = self._refusal(request, number)
        if refusal is not None:
            return refusal
        return await self._send(request, noted, number)

    def _refusal(self, request: web.BaseRequest, number: int) -> web.Response | None:
        fault = self.fault
        if number < len(fault.statuses):
            status = fault.statuses[number]
        else:
            status = fault.then
        if status is not None:
            kind = "text/html" if fault.page else "text/plain"
            text = fault.page or "no"
            return web.Response(status=status, headers=fault.headers, text=text, content_type=kind)
        if fault.secret and request.headers.get("Authorization") != fault.secret:
            return web.Response(status=401)
        path = request.rel_url.path
        if fault.signed_seconds and path == "/file":
            until = time.monotonic() + fault.signed_seconds
            return web.Response(status=302, headers={"Location": f"/signed/{until}?sig=a%2Fb%7E%3D"})
        if path.startswith("/signed/") and time.monotonic() > float(path.split("/")[2]):
            return web.Response(status=403, text="<Error>expired</Error>", content_type="application/xml")
        target = fault.redirect(number)
        if target is not None:
            return web.Response(status=target[0], headers={"Location": target[1]})
        return None

    async def _send(self, request: web.BaseRequest, noted: Request, number: int) -> web.StreamResponse:
        fault, data = self.fault, self.fault.data(number) or self.data
        start, end = noted.start, min(noted.end or len(data), len(data))
        if start is not None and start >= len(data):
            return web.Response(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
        status, headers = 200, {"ETag": fault.etags(number), "Content-Type": "application/octet-stream"}
        if start is None or fault.ranges == "ignored":
            start, end = 0, len(data)
        else:
            status, start, end = _fault_range(fault, headers, start, end, len(data))
        body = data[start:end]
        for flip in fault.flips:
            if start <= flip < end:
                body = body[: flip - start] + bytes([body[flip - start] ^ 1]) + body[flip - start + 1 :]
        if fault.page and not fault.statuses:
            return web.Response(status=200, text=fault.page, content_type="text/html")
        if fault.compressed:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        response = web.StreamResponse(status=status, headers=headers)
        if fault.length:
            response.content_length = len(body)
        else:
            response.enable_chunked_encoding()
        await response.prepare(request)
        await self._stream(request, response, body, noted, number)
        return response

    async def _stream(
        self, request: web.BaseRequest, response: web.StreamResponse, body: bytes, noted: Request, number: int
    ) -> None:
        fault = self.fault
        rate = fault.slow.get(number, fault.rate)
        cut, stall = fault.cut(number), fault.stall(number)
        block = int(min(BLOCK, max(1024, rate / 50))) if rate else BLOCK
        began = time.monotonic()
        for at in range(0, len(body), block):
            piece = body[at : at + block]
            if self.dead or (cut is not None and at + len(piece) > cut):
                await response.write(piece[: max(0, (cut or 0) - at)])
                _break(request)
            if stall is not None and at >= stall:
                await asyncio.sleep(3600)
            await response.write(piece)
            noted.sent += len(piece)
            for count, event in self._awaited:
                if self.sent >= count:
                    event.set()
            if rate:
                await asyncio.sleep(max(0.0, began + noted.sent / rate - time.monotonic()))
        await response.write_eof()


def _fault_range(
    fault: Fault, headers: dict[str, str], start: int, end: int, size: int
) -> tuple[int, int, int]:
    """Status, and the bytes that are really sent."""
    said = f"bytes {start}-{end - 1}/{size}"
    if fault.ranges == "shifted" and start >= 4096:
        start -= 4096
        said = f"bytes {start}-{end - 1}/{size}"
    elif fault.ranges == "lying":
        start = max(0, start - 4096)
    elif fault.ranges == "whole206":
        start, end = 0, size
        said = f"bytes 0-{size - 1}/{size}"
    elif fault.ranges == "short" and end - start > 1000:
        end = start + (end - start) // 2
        said = f"bytes {start}-{end - 1}/{size}"
    elif fault.ranges == "other":
        said = f"bytes {start}-{end - 1}/{size + 1}"
    if fault.ranges == "multipart":
        headers["Content-Type"] = "multipart/byteranges; boundary=x"
    elif fault.ranges != "unsaid":
        headers["Content-Range"] = said
    return (200 if fault.ranges == "status200" else 206), start, end


def _range(text: str) -> tuple[int | None, int | None]:
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", text)
    if not found:
        return None, None
    return int(found[1]), int(found[2]) + 1 if found[2] else None


def _break(request: web.BaseRequest) -> None:
    """A reset instead of an orderly end."""
    transport = request.transport
    if transport is not None:
        transport.abort()
    raise ConnectionResetError
