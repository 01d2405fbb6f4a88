"""Which addresses may be asked, which proxy leads to them: rules as values. Pure.

Whoever may call our API could make us ask hosts of the inner network for him. So names and addresses that are
not public are refused unless the user allowed that very place.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mirrors.errors import Refused

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether an IP address is for everybody: not private, loopback, link-local, multicast and so on."""
    address = _parsed(text)
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not address.is_multicast


def literal(host: str) -> str | None:
    """The address that a host name is, if it is one; also in the odd ways in which systems read numbers."""
    address = _parsed(host)
    if address is not None:
        return str(address)
    parts = host.rstrip(".").split(".")
    if parts and all(part[:2].lower() == "0x" or part.isdigit() for part in parts):
        return "0.0.0.0"  # e.g. 0x7f.1 or 2130706433: no public name looks like this
    return None


@dataclass(frozen=True, slots=True)
class ProxyRules:
    """What HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say; lower case goes before upper case.

    NO_PROXY holds, with commas between: `*`, names (which take in the names below them), addresses, networks
    such as 10.0.0.0/8, each with a port if it is meant for that alone. The loopback never needs a proxy.
    """

    https: str = ""
    http: str = ""
    bypassed: tuple[str, ...] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "ProxyRules":
        def said(name: str) -> str:
            return (environment.get(name.lower()) or environment.get(name.upper()) or "").strip()

        everything = said("all_proxy")
        bypassed = tuple(entry.strip().lower() for entry in said("no_proxy").split(",") if entry.strip())
        return cls(said("https_proxy") or everything, said("http_proxy") or everything, bypassed)

    def proxy_for(self, url: str) -> str | None:
        """The proxy's address; None: go directly. Raises Refused for a proxy that cannot be used."""
        parts = urlsplit(url)
        host, port = (parts.hostname or ""), parts.port or (443 if parts.scheme == "https" else 80)
        proxy = self.https if parts.scheme == "https" else self.http
        if not proxy or self._goes_directly(host, port):
            return None
        return usable_proxy(proxy)

    def _goes_directly(self, host: str, port: int) -> bool:
        address = _parsed(host)
        if host == "localhost" or (address is not None and address.is_loopback):
            return True
        return any(_matches(entry, host, port, address) for entry in self.bypassed)


def usable_proxy(text: str) -> str:
    """The proxy's address with a scheme. Raises Refused."""
    url = text if "://" in text else f"http://{text}"
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https"):
        shown = rest.rpartition("@")[2]
        raise Refused(
            f"the proxy {scheme}://{shown} is of a kind that is not supported: name an HTTP proxy, "
            "or none (NO_PROXY) for this host"
        )
    try:
        port_is_right = urlsplit(url).port is None or bool(urlsplit(url).hostname)
    except ValueError:
        port_is_right = False
    if not port_is_right:
        raise Refused("the proxy's address in the environment cannot be read")
    return url


def _matches(entry: str, host: str, port: int, address: _Address | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted_port = _split_port(entry)
    if wanted_port is not None and wanted_port != port:
        return False
    if address is not None:
        return _parsed(name) == address
    name = name.removeprefix("*").removeprefix(".")
    return host == name or host.endswith("." + name)


def _split_port(entry: str) -> tuple[str, int | None]:
    name, separator, port = entry.rpartition(":")
    if separator and port.isdigit() and (":" not in name or name.startswith("[")):
        return name.strip("[]"), int(port)
    return entry.strip("[]"), None


def _parsed(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
