"""What `shim doctor` looks at for pulls: lists of mirrors, and the proxy that the server would use.

Asks nobody; `shim mirror test` does. Passwords of proxies are not shown.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from mirrors.addresses import ProxyRules
from mirrors.config_file import MirrorSettings
from mirrors.errors import MirrorsError
from shim.cli.findings import Finding
from shim.mirror_places import places_of_mirrors
from shim.settings import Settings


def check_mirrors(settings: Settings) -> Finding:
    """Whether the list of mirrors can be read, and how many there are."""
    config = MirrorSettings(places_of_mirrors(settings)).current()
    count = sum(map(len, config.mirrors.values()))
    found = f"{count} set in {config.origin}" if count else "none set"
    if config.problems:
        remedy = "correct it; 'shim mirror list' shows what counts"
        return Finding("mirrors", "warning", "; ".join(config.problems), remedy)
    return Finding("mirrors", "ok", found)


def check_proxy(settings: Settings) -> Finding:
    """The proxy for registries, by the variables of this process; the server's own are what counts there."""
    proxies = settings.transfers.proxies
    try:
        proxy = ProxyRules.of(proxies).proxy_for("https://registry.ollama.ai/")
    except MirrorsError as error:
        return Finding("proxy", "warning", str(error), "correct the variable in the server's environment")
    if proxy is None:
        return Finding("proxy", "ok", "none")
    return Finding("proxy", "ok", f"{without_password(proxy)} (must be set where the server runs)")


def without_password(url: str) -> str:
    """The address with `***` in the place of who uses it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"***@{host}" if "@" in parts.netloc else host).geturl()
