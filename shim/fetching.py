"""Builds what fetches and sends models, from the settings. Opens nothing before the first pull."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mirrors.config_file import MirrorSettings
from mirrors.download import Downloader
from mirrors.errors import BadSetting
from mirrors.http import HttpSettings
from mirrors.identity import identity_at
from mirrors.limits import Limits
from mirrors.questions import Questions
from mirrors.sites.finding import Sites, SiteSettings
from modelfiles.store import Store
from shim.bridge import Threads
from shim.mirror_places import places_of_mirrors
from shim.pulling import Pulls
from shim.pushing import Pushes
from shim.settings import Settings
from shim.transfer_settings import TransferSettings
from shim.versions import API_VERSION, own_version

PARTIAL_FOLDER = ".partial"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LARGEST_TOKEN_BYTES = 1 << 14


@dataclass(frozen=True, slots=True)
class Fetching:
    """Pulls and pushes, and what they share. `close` must be awaited in the end."""

    pulls: Pulls
    pushes: Pushes
    mirrors: MirrorSettings
    downloader: Downloader

    async def close(self) -> None:
        """End downloads; what they have stays."""
        await self.downloader.close()


def open_fetching(settings: Settings, store: Store, threads: Threads) -> Fetching:
    """Everything for these settings, in the running event loop."""
    mirrors = MirrorSettings(places_of_mirrors(settings))
    transfers = settings.transfers
    sites = Sites(
        SiteSettings(user_agent(), transfers.endpoints, _tokens(transfers)),
        mirrors.current,
        lambda: identity_at(transfers.key),
        credential_in(os.environ),
    )
    http = HttpSettings(
        user_agent=user_agent(), environment=transfers.proxies, private_hosts=sites.trusted_hosts
    )
    limits = replace(
        Limits(),
        connections=settings.download_connections,
        connections_of_host=settings.download_connections,
        bytes_per_second=float(settings.download_limit),
    )

    def present(digest: str) -> Path | None:
        return store.blob_path(digest) if store.has_blob(digest) else None

    downloader = Downloader(store.root / PARTIAL_FOLDER, limits, http, present)
    web = Questions(downloader.client)
    pulls = Pulls(store, threads, sites, web, downloader, noprune=settings.no_prune)
    return Fetching(pulls, Pushes(store, threads, sites, web), mirrors, downloader)


def user_agent() -> str:
    """Registries decide by it which models a client can run: it begins as that of the Ollama we are like."""
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    return f"ollama/{API_VERSION} ({architecture} {sys.platform}) Go/go1.26 shim/{own_version()}"


def credential_in(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Finds what an `auth` entry names: `env:NAME` or `file:PATH`."""

    def credential(place: str) -> str:
        """BadSetting where there is none."""
        kind, _, where = place.partition(":")
        found = environ.get(where, "").strip() if kind == "env" else _first_line(Path(where).expanduser())
        if not found:
            raise BadSetting(f"a mirror's token should be in {place}, but there is none")
        return found

    return credential


def _tokens(transfers: TransferSettings) -> dict[str, str]:
    """Those of the environment, else the one that Hugging Face's own program keeps."""
    tokens = dict(transfers.tokens)
    if "huggingface" not in tokens and transfers.token_file is not None:
        kept = _first_line(transfers.token_file)
        if kept:
            tokens["huggingface"] = kept
    return tokens


def _first_line(path: Path) -> str:
    """Empty where there is no such file, or none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline(_LARGEST_TOKEN_BYTES).strip()
    except (OSError, UnicodeDecodeError):
        return ""
