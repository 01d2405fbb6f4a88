"""Carries small questions out over the HTTP client: a few tries, a bound on time and size. Knows no site."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

import aiohttp

from mirrors.asking import JSON_BYTES, Answer
from mirrors.errors import BadAnswer, MirrorsError, Unreachable
from mirrors.http import HttpClient, host_of
from mirrors.resolver import explain
from mirrors.sources import Access

_TRIES = 3
_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 10.0
_READ_BYTES = 64 << 10
_PASSING = frozenset({408, 425, 429, *range(500, 600)}) - {501, 511}
_OURS = ("authorization", "cookie")


class Questions:
    """`mirrors.asking.Web` over one client. `sleep` is asyncio's, except in tests."""

    def __init__(
        self, client: HttpClient, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._client = client
        self._sleep = sleep

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        limit_bytes: int = JSON_BYTES,
        seconds: float = 60.0,
        access: Access = Access(),  # noqa: B008  frozen
        follow: bool = True,
    ) -> Answer:
        """The answer, whatever its status. A passing fault is tried again as long as there is time."""
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(method, url, headers or {}, body, limit_bytes, access, follow)
        except TimeoutError as error:
            raise Unreachable(f"{host_of(url)} does not answer within {seconds:g} seconds") from error

    async def _ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        limit_bytes: int,
        access: Access,
        follow: bool,
    ) -> Answer:
        for attempt in range(1, _TRIES + 1):
            last = attempt == _TRIES
            try:
                answer = await self._once(method, url, headers, body, limit_bytes, access, follow)
            except MirrorsError:
                raise
            except (aiohttp.ClientError, OSError, ValueError) as error:
                if last or not _may_pass(error):
                    raise Unreachable(explain(error, host_of(url))) from error
                wait = None
            else:
                if last or answer.status not in _PASSING:
                    return answer
                wait = _asked_to_wait(answer)
            if wait is None:
                wait = random.uniform(0, _WAIT_SECONDS * 2**attempt)
            await self._sleep(min(wait, _LONGEST_WAIT_SECONDS))
        raise AssertionError("the last try returns or raises")

    async def _once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        limit_bytes: int,
        access: Access,
        follow: bool,
    ) -> Answer:
        secrets = {name: value for name, value in headers.items() if name.lower() in _OURS}
        others = {name: value for name, value in headers.items() if name.lower() not in _OURS}
        request = self._client.request(method, url, others, secrets, access, body, follow=follow)
        async with request as found:
            response, final = found.response, found.url
            told = {name.lower(): value for name, value in response.headers.items()}
            if told.get("content-encoding", "identity").lower() not in ("identity", ""):
                raise BadAnswer(f"{host_of(final)} sent its answer compressed, which nobody asked for")
            data = bytearray()
            async for chunk in response.content.iter_chunked(_READ_BYTES):
                data += chunk
                if len(data) > limit_bytes:
                    if response.status >= 400:
                        break  # enough of it to be shown
                    raise BadAnswer(f"{host_of(final)} sent more than {limit_bytes} bytes in one answer")
            return Answer(response.status, final, told, bytes(data))


def _may_pass(error: BaseException) -> bool:
    """Whether the same question can be answered a moment later."""
    return not isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.InvalidURL | ValueError)


def _asked_to_wait(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None
