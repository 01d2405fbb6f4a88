"""Host names to addresses, and errors of connections in words. Keeps out addresses that are not public."""

import asyncio
import socket
import time
from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from mirrors.errors import Refused

_NAMES_KEPT_SECONDS = 60.0
_FAMILY_KEPT_SECONDS = 600.0

Addresses = list[ResolveResult]


class Names(AbstractResolver):
    """Host names to addresses, kept for a minute. With `guard`, addresses that are not public are refused."""

    def __init__(self, public: Callable[[str], bool], *, guard: bool, exempt: set[str]) -> None:
        self._public = public
        self._guard = guard
        self._exempt = exempt
        self._known: dict[tuple[str, int], tuple[float, Addresses]] = {}
        self._family: dict[str, tuple[float, int]] = {}
        self.lookup = self._ask_system

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> Addresses:
        at, found = self._known.get((host, port), (0.0, []))
        now = time.monotonic()
        if not found or now - at > _NAMES_KEPT_SECONDS:
            found = await self.lookup(host, port)
            self._known[host, port] = (now, found)
        if self._guard and host not in self._exempt:
            for one in found:
                if not self._public(one["host"]):
                    raise Refused(private_text(host, one["host"]))
        return self._preferred(host, found, now)

    def stalled(self, host: str, family: int) -> None:
        """Connections over this family got no answer: the other one goes first for ten minutes."""
        if family in (socket.AF_INET, socket.AF_INET6):
            other = socket.AF_INET if family == socket.AF_INET6 else socket.AF_INET6
            self._family[host] = (time.monotonic() + _FAMILY_KEPT_SECONDS, other)

    def first_family(self, host: str) -> int:
        """The family that a connection to this host is most likely made over; 0 if the host is not known."""
        for (known, _), (_, found) in self._known.items():
            if known == host and found:
                return int(self._preferred(host, found, time.monotonic())[0]["family"])
        return 0

    def addresses(self, host: str) -> list[str]:
        """What is known of a host; nothing where it was not asked for."""
        lists = [found for (known, _), (_, found) in self._known.items() if known == host]
        return [one["host"] for found in lists for one in found]

    def _preferred(self, host: str, found: Addresses, now: float) -> Addresses:
        until, family = self._family.get(host, (0.0, 0))
        wanted = [one for one in found if one["family"] == family] if now < until else []
        return wanted or found

    async def _ask_system(self, host: str, port: int) -> Addresses:
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found: Addresses = []
        for family, _, protocol, _, address in infos:
            one = ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=family,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            if one not in found:
                found.append(one)
        return found

    async def close(self) -> None:
        self._known.clear()


def explain(error: BaseException, host: str) -> str:
    """Why a host could not be talked to, in words that say what to look at. Never the address in full."""
    if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
        return f"the name {host} cannot be resolved (is the DNS server reachable?)"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"the proxy for {host} cannot be reached: {error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy for {host} answered {error.status}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return (
            f"the certificate of {host} is not trusted ({error.certificate_error}); behind a proxy that "
            "reads TLS, name its certificate in SSL_CERT_FILE"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"{host} cannot be reached: {str(error.strerror or error.os_error).lower()}"
    if isinstance(error, TimeoutError):
        return f"{host} does not answer"
    if isinstance(error, aiohttp.ClientPayloadError | ConnectionResetError | aiohttp.ServerDisconnectedError):
        return f"{host} broke the connection off"
    return f"{host}: {type(error).__name__}"


def private_text(host: str, address: str) -> str:
    where = f"{host} ({address})" if host != address else host
    return (
        f"{where} is not a public address, and nothing allows it: "
        "if it is meant, name it in the configuration of mirrors, or pull on the machine of the server itself"
    )
