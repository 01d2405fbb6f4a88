"""From a reference to a plan: which site it is, how that is reached, and with which credentials.

Built once for a process. Asks nothing itself; every question goes through the `Web` that a call brings, which
knows what its caller may ask.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mirrors.asking import Web
from mirrors.config import Mirror, MirrorConfig, site_of
from mirrors.errors import Refused
from mirrors.identity import Identity
from mirrors.listed import HUGGING_FACE, MODELSCOPE
from mirrors.reference import HUB_HOSTS, FileAddress, HubRepository, Reference, RegistryModel
from mirrors.sites import hub, registry, web
from mirrors.sites.huggingface import HuggingFace
from mirrors.sites.modelscope import ModelScope
from mirrors.sites.plans import Plan
from mirrors.sources import Access

SITES: Mapping[str, hub.Site] = {"huggingface": HuggingFace(), "modelscope": ModelScope()}
_PUBLIC = Access()
_CANONICAL = {"huggingface": HUGGING_FACE, "modelscope": MODELSCOPE}


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """How sites are reached. `endpoints` are addresses that a user put in the place of the hubs' own.

    `tokens` are for the hubs themselves; another endpoint, being another site, does not get them.
    """

    user_agent: str
    endpoints: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)


class Sites:
    """All sites. `mirrors` gives the settings as they are now, `credential` what an `auth` entry names."""

    def __init__(
        self,
        settings: SiteSettings,
        mirrors: Callable[[], MirrorConfig],
        identity: Callable[[], Identity],
        credential: Callable[[str], str],
    ) -> None:
        self._settings = settings
        self._mirrors = mirrors
        self._identity = identity
        self._credential = credential

    @property
    def mirrors(self) -> MirrorConfig:
        """What is set now."""
        return self._mirrors()

    @property
    def trusted_hosts(self) -> frozenset[str]:
        """Hosts (with ports) that the settings name: they may be of the inner network."""
        endpoints = (Mirror(url).host for url in self._settings.endpoints.values())
        return self._mirrors().hosts | frozenset(filter(None, endpoints))

    async def plan(self, reference: Reference, web_: Web, access: Access = _PUBLIC) -> Plan:
        """What to fetch for it. MirrorsError.

        `access` is what the caller may ask for himself; what the settings name may be asked anyhow.
        """
        if isinstance(reference, FileAddress):
            _check_secure(reference.url, access)
            own = self._access(Mirror(reference.url).host, access)
            return web.plan(reference, own, self._headers())
        if isinstance(reference, HubRepository):
            return await hub.plan(self._hub(reference, web_, access), reference)
        asked = registry.Repository(reference.namespace, reference.model, reference.tag, reference.digest)
        order = self._mirrors().order_of(reference.host)
        return await registry.plan(self.places(reference, web_, access), asked, order)

    def places(self, model: RegistryModel, web_: Web, access: Access) -> tuple[registry.Place, ...]:
        """The registry of a model, and its mirrors behind it. Refused for plain HTTP nobody asked for."""
        _check_secure(f"{model.scheme}://", access)
        base = f"{'http' if access.insecure else 'https'}://{model.host}"
        mirrors = self._mirrors().of(model.host)
        own = self._access(model.host, access)
        return registry.places_of(
            web_, base, mirrors, self._identity, self._headers(), self._credential, own
        )

    def _hub(self, repository: HubRepository, web_: Web, access: Access) -> hub.Hub:
        canonical = _CANONICAL[repository.hub]
        base = self._settings.endpoints.get(repository.hub, "").rstrip("/") or f"https://{canonical}"
        moved = repository.hub in self._settings.endpoints
        own = "" if moved else self._settings.tokens.get(repository.hub, "")
        site = SITES[repository.hub]
        host = Mirror(base).host
        here = self._access(host, access)
        places = [hub.HubPlace(site, base, host, self._headers(own), here)]
        places += [self._mirror(mirror, repository) for mirror in self._mirrors().of(canonical)]

        def bridge() -> registry.Place:
            return registry.places_of(
                web_, base, (), self._identity, self._headers(), self._credential, here
            )[0]

        return hub.Hub(web_, places, bridge, self._mirrors().order_of(canonical))

    def _mirror(self, mirror: Mirror, repository: HubRepository) -> hub.HubPlace:
        """A mirror of a hub; the other hub can be one too, for what is the same there."""
        kind = HUB_HOSTS.get(site_of(mirror.host), repository.hub)
        token = self._credential(mirror.auth) if mirror.auth else ""
        return hub.HubPlace(
            SITES[kind],
            mirror.url,
            mirror.host,
            self._headers(token),
            registry.access_of(mirror),
            mirror.connections,
            mirror.may_name,
            kind == repository.hub,
        )

    def _access(self, host: str, access: Access) -> Access:
        return replace(access, private=access.private or host in self.trusted_hosts)

    def _headers(self, token: str = "") -> dict[str, str]:
        headers = {"User-Agent": self._settings.user_agent}
        return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _check_secure(url: str, access: Access) -> None:
    if url.startswith("http://") and not access.insecure:
        raise Refused("insecure protocol http: say --insecure (insecure: true) if you mean it")
