"""Which web pages and which host names may talk to the server: decisions only, no request and no response.

Origins guard against web pages, the Host header against DNS rebinding: a page that makes its name point at
127.0.0.1. Both follow Ollama's rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_METHODS = "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS"
_HEADERS = ",".join(
    [
        "Authorization", "Content-Type", "User-Agent", "Accept", "X-Requested-With", "Openai-Beta",
        "X-Stainless-Arch", "X-Stainless-Async", "X-Stainless-Custom-Poll-Interval",
        "X-Stainless-Helper-Method", "X-Stainless-Lang", "X-Stainless-Os", "X-Stainless-Package-Version",
        "X-Stainless-Poll-Helper", "X-Stainless-Retry-Count", "X-Stainless-Runtime",
        "X-Stainless-Runtime-Version", "X-Stainless-Timeout",
    ]
)  # fmt: skip
_LOCAL = [
    f"{scheme}://{host}{port}"
    for host in ("localhost", "127.0.0.1", "0.0.0.0")
    for port in ("", ":*")
    for scheme in ("http", "https")
]
_APPS = ["app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*"]
_LOCAL_NAMES = (".localhost", ".local", ".internal")
_PRIVATE = [ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]

IPAddress = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a request: go on with these headers, or end it with this status and no body."""

    headers: tuple[tuple[str, str], ...] = ()
    end_with: int | None = None


class Origins:
    """The allowed origins; each entry may hold one `*` for any text."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._patterns = [entry.lower().partition("*") for entry in (*entries, *_LOCAL, *_APPS)]
        self._everybody = "*" in entries

    def judge(self, origin: str, host: str, method: str) -> Verdict:
        """For a request with these Origin and Host headers; an empty origin is no page's request."""
        if not origin or origin in (f"http://{host}", f"https://{host}"):
            return Verdict()
        if not self.allows(origin):
            return Verdict(end_with=403)
        preflight = method == "OPTIONS"
        headers = [("Access-Control-Allow-Origin", "*" if self._everybody else origin)]
        if preflight:
            headers += [
                ("Access-Control-Allow-Methods", _METHODS),
                ("Access-Control-Allow-Headers", _HEADERS),
                ("Access-Control-Max-Age", "43200"),
            ]
        if not self._everybody:
            headers.append(("Vary", "Origin"))
            if preflight:
                headers.append(("Vary", "Access-Control-Request-Method"))
                headers.append(("Vary", "Access-Control-Request-Headers"))
        return Verdict(tuple(headers), end_with=204 if preflight else None)

    def allows(self, origin: str) -> bool:
        text = origin.lower()
        return self._everybody or any(_matches(text, *pattern) for pattern in self._patterns)


def _matches(text: str, before: str, star: str, after: str) -> bool:
    if not star:
        return text == before
    return len(text) >= len(before) + len(after) and text.startswith(before) and text.endswith(after)


class Hosts:
    """The Host headers that a server on a loopback address answers to."""

    def __init__(self, hostname: str, interfaces: Iterable[str]) -> None:
        self._names = {"", "localhost", hostname.lower()}
        self._interfaces = {address for text in interfaces if (address := _address(text))}

    def judge(self, host: str, method: str) -> Verdict:
        """For a request with this Host header."""
        name = _without_port(host)
        address = _address(name)
        if address is not None:
            return Verdict() if self._is_ours(address) else Verdict(end_with=403)
        if not self._is_local_name(name.lower()):
            return Verdict(end_with=403)
        return Verdict(end_with=204 if method == "OPTIONS" else None)

    def _is_local_name(self, name: str) -> bool:
        return name in self._names or name.endswith(_LOCAL_NAMES)

    def _is_ours(self, address: IPAddress) -> bool:
        return (
            address.is_loopback
            or address.is_unspecified
            or any(address in network for network in _PRIVATE)
            or address in self._interfaces
        )


def _address(text: str) -> IPAddress | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host
