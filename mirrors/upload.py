"""Sends a model to a registry: the blobs that it lacks, in pieces, and then the manifest.

The protocol is that of Docker's registries with Ollama's words for where a piece goes: POST opens an upload,
PATCH sends pieces, PUT with the digest ends it. A registry may send a piece on to another place (307), which
then gets it without our credential. A blob that another model of the registry has can be mounted.
"""

import asyncio
import hashlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from mirrors.asking import Answer, Web, said
from mirrors.errors import BadAnswer, MirrorsError, NotPermitted, PushFailed, Unreachable
from mirrors.login import Login
from mirrors.sites.registry import MANIFEST_TYPE, Place, Repository

PIECE_BYTES = 16 << 20
_TRIES = 6
_SECONDS = 600.0
_OCTETS = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Parcel:
    """A blob to send. `source` is the `namespace/model` that it came from, where the manifest says so."""

    digest: str
    size: int
    path: Path
    source: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """How far a blob has got."""

    digest: str
    completed: int
    total: int


class Uploader:
    """Sends to one repository. `sleep` is asyncio's, except in tests."""

    def __init__(
        self,
        place: Place,
        repository: Repository,
        web: Web,
        *,
        piece_bytes: int = PIECE_BYTES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._login: Login = place.login
        self._place = place
        self._repository = repository
        self._web = web
        self._piece_bytes = piece_bytes
        self._sleep = sleep

    async def send(self, parcel: Parcel) -> AsyncGenerator[Sent, None]:
        """Send a blob, unless it is there; the last item says that all of it is. MirrorsError."""
        url = f"{self._place.base}{self._repository.path}/blobs/{parcel.digest}"
        if (await self._login.ask("HEAD", url)).status == 200:
            yield Sent(parcel.digest, parcel.size, parcel.size)
            return
        target = await self._open(parcel)
        if target is None:
            yield Sent(parcel.digest, parcel.size, parcel.size)
            return
        sums, completed = [], 0
        yield Sent(parcel.digest, 0, parcel.size)
        while completed < parcel.size:
            piece = await asyncio.to_thread(_read, parcel, completed, self._piece_bytes)
            target = await self._piece(target, piece, completed)
            sums.append(hashlib.md5(piece, usedforsecurity=False).digest())
            completed += len(piece)
            yield Sent(parcel.digest, completed, parcel.size)
        await self._finish(target, parcel, sums)

    async def finish(self, manifest: bytes) -> None:
        """Give the model its name there. MirrorsError."""
        url = f"{self._place.base}{self._repository.path}/manifests/{quote(self._repository.tag)}"
        answer = await self._login.ask("PUT", url, {"Content-Type": MANIFEST_TYPE}, body=manifest)
        if answer.status not in (200, 201, 202):
            raise _failed(answer, "the manifest")

    async def _open(self, parcel: Parcel) -> str | None:
        """Where the pieces go; None if the registry found the blob in another of its models."""
        query = f"?{urlencode({'mount': parcel.digest, 'from': parcel.source})}" if parcel.source else ""
        url = f"{self._place.base}{self._repository.path}/blobs/uploads/{query}"
        answer = await self._login.ask("POST", url, {"Content-Length": "0"}, body=b"")
        if answer.status == 201:
            return None
        if answer.status not in (200, 202):
            raise _failed(answer, parcel.digest)
        return self._next(answer, url)

    async def _piece(self, target: str, piece: bytes, start: int) -> str:
        """Send one piece, as often as it takes; where the next one goes."""
        headers = {
            "Content-Range": f"{start}-{start + len(piece) - 1}",
            "Content-Type": _OCTETS,
            "X-Redirect-Uploads": "1",
        }
        for attempt in range(1, _TRIES + 1):
            try:
                answer = await self._login.ask(
                    "PATCH", target, headers, body=piece, seconds=_SECONDS, follow=False
                )
                if answer.status == 307:
                    await self._elsewhere(answer, target, piece)
                    return self._next(answer, target, only_docker=True)
                if answer.status < 300:
                    return self._next(answer, target)
                failure: MirrorsError = _failed(answer, f"bytes from {start} on")
                if answer.status < 500 and answer.status not in (408, 429):
                    raise failure
            except Unreachable as error:
                failure = error
            if attempt == _TRIES:
                raise PushFailed(f"max retries exceeded: {failure}") from failure
            await self._sleep(random.uniform(0.5, 1.0) * 2.0**attempt)
        raise AssertionError("the last try returns or raises")

    async def _elsewhere(self, answer: Answer, target: str, piece: bytes) -> None:
        """To the place that the registry names, without the credential, which is the registry's alone."""
        url = urljoin(target, answer.headers.get("location", ""))
        headers = {"Content-Type": _OCTETS}
        stored = await self._web.ask(
            "PUT", url, headers, body=piece, seconds=_SECONDS, access=self._place.access
        )
        if stored.status >= 300:
            raise _failed(stored, "a part of a layer")

    async def _finish(self, target: str, parcel: Parcel, sums: list[bytes]) -> None:
        etag = f"{hashlib.md5(b''.join(sums), usedforsecurity=False).hexdigest()}-{len(sums)}"
        parts = urlsplit(target)
        added = urlencode({"digest": parcel.digest, "etag": etag})
        url = urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))
        answer = await self._login.ask("PUT", url, {"Content-Type": _OCTETS}, body=b"", seconds=_SECONDS)
        if answer.status not in (200, 201, 202, 204):
            raise _failed(answer, parcel.digest)

    def _next(self, answer: Answer, asked: str, *, only_docker: bool = False) -> str:
        """Where the next piece goes, which must be at the registry: our credential goes with it."""
        location = answer.headers.get("docker-upload-location", "")
        location = location or ("" if only_docker else answer.headers.get("location", ""))
        if not location:
            return asked
        url = urljoin(asked, location)
        if urlsplit(url)[:2] != urlsplit(asked)[:2]:
            raise BadAnswer(f"{answer.host} wants a layer sent to another host, with our credential")
        return url




def _read(parcel: Parcel, start: int, count: int) -> bytes:
    try:
        with open(parcel.path, "rb") as file:
            file.seek(start)
            piece = file.read(min(count, parcel.size - start))
    except OSError as error:
        raise PushFailed(f"cannot read {parcel.path}: {(error.strerror or str(error)).lower()}") from error
    if not piece:
        raise PushFailed(f"{parcel.path} is shorter than its manifest says")
    return piece


def _failed(answer: Answer, what: str) -> MirrorsError:
    text = f"{answer.host} does not take {what}: {answer.status}: {said(answer)}"
    return NotPermitted(f"unauthorized: {text}") if answer.status in (401, 403) else PushFailed(text)
