"""Where a server listens: Ollama's many spellings of OLLAMA_HOST. Pure, and cheap to import."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from shim.errors import SettingsError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 11434
_SCHEME_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._~%:-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed OLLAMA_HOST. An empty `host` is every interface; `path` is a prefix such as `/ollama`."""

    scheme: str = "http"
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    path: str = ""

    @property
    def netloc(self) -> str:
        """`host:port`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Only programs on this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Of a host name or an IP address without brackets; an empty one is every interface."""
    return host == "localhost" or host.startswith("127.") or host == "::1"


def parse_host(text: str, warn: Callable[[str], None] = lambda _: None) -> Address:
    """The address in an OLLAMA_HOST value, with or without scheme, port, brackets, quotes or blanks around.

    A port that cannot be is replaced by the default, and `warn` told. SettingsError for an impossible host.
    """
    value = text.strip().strip("\"'").strip()
    scheme, found, rest = value.partition("://")
    if not found:
        scheme, rest = ("https", "ollama.com:443") if value == "ollama.com" else ("http", value)
    default_port = _SCHEME_PORTS.get(scheme, DEFAULT_PORT) if found else DEFAULT_PORT
    netloc, slash, path = rest.partition("/")
    try:
        host, port = _split(netloc)
    except ValueError:
        raise _no_address(text) from None
    if not _HOST.fullmatch(host) or not scheme.isascii() or not scheme.isalnum():
        raise _no_address(text)
    return Address(scheme, host, _port(port, default_port, warn), (slash + path).rstrip("/"))


def _no_address(text: str) -> SettingsError:
    return SettingsError(
        f"{text!r} is no address to listen on or connect to; "
        "use host, host:port, [IPv6]:port or http://host:port, in plain ASCII characters"
    )


def _split(netloc: str) -> tuple[str, str | None]:
    """Host and port; None where no port was written."""
    if netloc.startswith("["):
        host, _, after = netloc[1:].partition("]")
        return _plain_ip(host), after[1:] if after.startswith(":") else None
    if netloc.count(":") == 1:
        host, _, port = netloc.partition(":")
        return host, port
    return (_plain_ip(netloc) if netloc else DEFAULT_HOST), None


def _plain_ip(host: str) -> str:
    """The shortest spelling of an IPv6 address; ValueError for anything else with a colon in it."""
    if ":" not in host:
        return host
    from ipaddress import ip_address  # 4 ms that only IPv6 users pay

    return str(ip_address(host))


def _port(text: str | None, default: int, warn: Callable[[str], None]) -> int:
    if text is None:
        return default
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else -1
    if not 0 <= number <= 65535:
        warn(f"{text!r} is no port; using {default}")
        return default
    return number
