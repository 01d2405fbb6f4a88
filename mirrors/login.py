"""Requests to a registry that may want to know who asks: the challenge is met once, and the token kept.

Tokens are for one repository of one origin and never leave it. Nothing is signed for another host than the
one that was asked, see `mirrors.registry_auth`.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from mirrors.asking import JSON_BYTES, Answer, Web, failure, read_json
from mirrors.errors import BadAnswer, NotPermitted
from mirrors.identity import Identity
from mirrors.registry_auth import NONCE_BYTES, check_realm, read_challenge, signed_header, token_url
from mirrors.sources import Access

_TOKEN_BYTES = 1 << 16


class Login:
    """Asks one repository of one registry. `identity` gives the key when one is needed; it may block."""

    def __init__(
        self,
        web: Web,
        identity: Callable[[], Identity],
        headers: Mapping[str, str],
        access: Access,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._web = web
        self._identity = identity
        self._headers = dict(headers)
        self._access = access
        self._now = now
        self._fixed = "Authorization" in self._headers  # a credential of the user's own; nothing else is sent
        self._token = ""
        self._lock = asyncio.Lock()

    @property
    def headers(self) -> dict[str, str]:
        """What to send with a request now."""
        return {**self._headers, "Authorization": f"Bearer {self._token}"} if self._token else self._headers

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        limit_bytes: int = JSON_BYTES,
        seconds: float = 60.0,
        follow: bool = True,
    ) -> Answer:
        """As `Web.ask`, with one further try where a token is wanted. NotPermitted if that does not help."""

        async def once() -> Answer:
            sent = {**self.headers, **(headers or {})}
            return await self._web.ask(
                method,
                url,
                sent,
                body=body,
                limit_bytes=limit_bytes,
                seconds=seconds,
                access=self._access,
                follow=follow,
            )

        used = self._token
        answer = await once()
        if answer.status != 401 or self._fixed:
            return answer
        await self._renew(answer, url, used)
        answer = await once()
        if answer.status == 401:
            raise NotPermitted(f"{urlsplit(url).netloc}: unauthorized: access denied")
        return answer

    async def _renew(self, answer: Answer, asked_url: str, used: str) -> None:
        """A new token, once for all who were refused with the old one."""
        async with self._lock:
            if self._token != used:
                return
            header = answer.headers.get("www-authenticate", "")
            try:
                challenge = read_challenge(header)
            except BadAnswer as error:
                raise NotPermitted(f"{urlsplit(asked_url).netloc} {error}") from error
            check_realm(challenge, asked_url)
            url = token_url(challenge, int(self._now()), secrets.token_bytes(NONCE_BYTES))
            identity = await asyncio.to_thread(self._identity)
            headers = {**self._headers, "Authorization": signed_header(identity, url)}
            told = await self._web.ask("GET", url, headers, limit_bytes=_TOKEN_BYTES, access=self._access)
            self._token = _token(told)


def _token(answer: Answer) -> str:
    if answer.status != 200:
        raise failure(answer, "login")
    content = read_json(answer)
    token = (content.get("token") or content.get("access_token")) if isinstance(content, dict) else None
    if not isinstance(token, str) or not token or any(not "!" <= char <= "~" for char in token):
        raise BadAnswer(f"{answer.host} sent a login without a token")
    return token
