"""The HTTP client: asks by hand where aiohttp would go on by itself.

Redirects are followed here, so that credentials stay with the origin they are for, so that no public host can
send us to an address of the inner network, and so that the final address is known. Signed addresses are sent
exactly as they came. Nothing is decompressed. Cookies and `.netrc` are not used. Knows nothing of blobs.
"""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from mirrors.addresses import ProxyRules, is_public, literal, usable_proxy
from mirrors.errors import Refused
from mirrors.resolver import Names, private_text
from mirrors.sources import Access

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_HEADER_BYTES = 32 << 10
_READ_BUFFER = 512 << 10

@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`environment` is where proxies are read. `private_hosts` may be at addresses that are not public, also
    when another allowed host redirects there. `public` says which addresses are.
    """

    user_agent: str = "moe-shim"
    environment: Mapping[str, str] = field(default_factory=dict)
    private_hosts: frozenset[str] = frozenset()
    connect_seconds: float = 10.0
    public: Callable[[str], bool] = is_public


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, the address that gave it, and how that address may be reached."""

    response: aiohttp.ClientResponse
    url: str
    access: Access


class HttpClient:
    """Made inside a running event loop; `close` it in the same one."""

    def __init__(self, settings: HttpSettings) -> None:
        self.settings = settings
        self._rules = ProxyRules.of(settings.environment)
        self._proxy_hosts: set[str] = set()
        self._names = {
            private: Names(settings.public, guard=not private, exempt=self._proxy_hosts)
            for private in (False, True)
        }
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._contexts: dict[tuple[bool, str], ssl.SSLContext] = {}

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        secrets: Mapping[str, str],
        access: Access,
        body: bytes | None = None,
        *,
        follow: bool = True,
    ) -> AsyncIterator[Answer]:
        """The answer after redirects, whose body is not read yet.

        `secrets` are headers for the origin of `url` alone. Raises Refused, OSError, aiohttp.ClientError.
        """
        origin = origin_of(url)
        for _ in range(MOST_REDIRECTS + 1):
            sent = {**headers, **secrets} if origin_of(url) == origin else dict(headers)
            response = await self._once(method, url, sent, access, body)
            target = response.headers.get("Location")
            if not follow or response.status not in _REDIRECTS or not target:
                async with _closing(response):
                    yield Answer(response, url, access)
                return
            response.close()
            before, url = url, urljoin(url, target)
            access = replace(access, private=self._may_be_private(before, url, access))
            if response.status == 303:
                method, body = ("HEAD" if method == "HEAD" else "GET"), None
        raise Refused(f"{host_of(url)} redirects more than {MOST_REDIRECTS} times")

    def stalled(self, url: str) -> None:
        """No answer came for too long: the next connection tries another kind of address."""
        host = urlsplit(url).hostname or ""
        for names in self._names.values():
            names.stalled(host, names.first_family(host))

    async def _once(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        access: Access,
        body: bytes | None,
    ) -> aiohttp.ClientResponse:
        host = urlsplit(url).hostname or ""
        address = literal(host)
        if not access.private and address is not None and not self.settings.public(address):
            raise Refused(private_text(host, address))
        proxy = self._proxy(url, access)
        insecure = access.insecure and url.startswith("https:")
        return await self._session(access.private).request(
            method,
            URL(url, encoded=True),
            headers={"User-Agent": self.settings.user_agent, "Accept-Encoding": "identity", **headers},
            data=body,
            allow_redirects=False,
            proxy=proxy,
            ssl=self._context(insecure, access.ca_file) if url.startswith("https:") else True,
        )

    def _proxy(self, url: str, access: Access) -> str | None:
        if access.proxy is None:
            proxy = self._rules.proxy_for(url)
        else:
            proxy = usable_proxy(access.proxy) if access.proxy else None
        if proxy is not None:
            self._proxy_hosts.add(urlsplit(proxy).hostname or "")
        return proxy

    def _may_be_private(self, before: str, after: str, access: Access) -> bool:
        """Whether the target of a redirect may be at an address that is not public.

        Only where the redirecting host is not public itself. Raises Refused for what is never to be asked.
        """
        parts, origin = urlsplit(after), urlsplit(before)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{host_of(before)} redirects to something that is no web address")
        if origin.scheme == "https" and parts.scheme != "https":
            raise Refused(f"{host_of(before)} redirects from https to http at {host_of(after)}")
        known = parts.hostname == origin.hostname or bool(
            {parts.hostname, host_of(after)} & self.settings.private_hosts
        )
        return access.private and known and self._is_private(origin.hostname or "")

    def _is_private(self, host: str) -> bool:
        """Whether all that is known of a host's addresses are not public. Behind a proxy nothing is known."""
        address = literal(host)
        known = [address] if address else self._names[True].addresses(host)
        return bool(known) and not any(map(self.settings.public, known))

    def _session(self, private: bool) -> aiohttp.ClientSession:
        if private not in self._sessions:
            connector = aiohttp.TCPConnector(
                limit=0, resolver=self._names[private], use_dns_cache=False, keepalive_timeout=20
            )
            seconds = self.settings.connect_seconds
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=seconds, connect=3 * seconds)
            self._sessions[private] = aiohttp.ClientSession(
                connector=connector,
                timeout=timeout,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                read_bufsize=_READ_BUFFER,
                max_field_size=_MOST_HEADER_BYTES,
                max_line_size=_MOST_HEADER_BYTES,
            )
        return self._sessions[private]

    def _context(self, insecure: bool, ca_file: str) -> ssl.SSLContext:
        if (insecure, ca_file) not in self._contexts:
            context = ssl.create_default_context()
            if ca_file:
                context.load_verify_locations(ca_file)
            if insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._contexts[insecure, ca_file] = context
        return self._contexts[insecure, ca_file]


@asynccontextmanager
async def _closing(response: aiohttp.ClientResponse) -> AsyncIterator[None]:
    """Keeps the connection for the next request if the body was read to its end."""
    try:
        yield
    finally:
        if response.content.is_eof():
            response.release()
        else:
            response.close()


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def host_of(url: str) -> str:
    """Host and port as they are shown: no user, no path, no signature."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()
