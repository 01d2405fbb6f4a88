"""Which mirrors stand in for which sites: settings in all the shapes that users have, read into values. Pure.

A setting is a list (of addresses, or of objects), or an object that maps a site to such a list, to one
address, or to one object; in the environment also addresses with commas between them. What stands in a
bare list is for Ollama's registry. Keys of an object: `url` (or `location`), `priority`, `connections`,
`auth`, `ca_file`, `proxy`, `insecure`, `upstream` (the site it stands in for), `manifest_from`. Unknown keys
are reported.

A credential is never part of a setting: `auth` is `env:NAME` or `file:PATH`, where it is found.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

from mirrors.errors import BadSetting
from mirrors.listed import REGISTRY, SAME_SITE

KEY = "OLLAMA_REGISTRIES"
ManifestFrom: TypeAlias = Literal["upstream", "mirror", "quorum"]

_MANIFEST_FROM = ("upstream", "mirror", "quorum")
_KEYS = {"url", "location", "priority", "connections", "auth", "ca_file", "proxy", "insecure", "upstream"}
_KEYS |= {"manifest_from"}


@dataclass(frozen=True, slots=True)
class Mirror:
    """One place that stands in for a site.

    `url` has no slash at its end. `insecure`: its word on what a tag means is taken even over plain HTTP, and
    certificates are not checked. `connections`: how many at the same time, 0 for the usual number. A smaller
    `priority` is asked first.
    """

    url: str
    priority: int = 0
    connections: int = 0
    auth: str = ""
    ca_file: str = ""
    proxy: str = ""
    insecure: bool = False

    @property
    def host(self) -> str:
        """With the port, if one is given."""
        return urlsplit(self.url).netloc

    @property
    def may_name(self) -> bool:
        """Whether to believe it what a tag means; a digest may come from anywhere."""
        return self.insecure or self.url.startswith("https://")


@dataclass(frozen=True, slots=True)
class MirrorConfig:
    """Mirrors by the site (host) they stand in for, in the order of trying; `origin` says where that stands.

    `problems` are sentences about entries that were left out, or about a file that could not be read at all.
    """

    mirrors: Mapping[str, tuple[Mirror, ...]] = field(default_factory=dict)
    manifest_from: Mapping[str, ManifestFrom] = field(default_factory=dict)
    origin: str = ""
    problems: tuple[str, ...] = ()

    def of(self, host: str) -> tuple[Mirror, ...]:
        """The mirrors of a site, by any of its names."""
        return self.mirrors.get(site_of(host), ())

    def order_of(self, host: str) -> ManifestFrom:
        """Who is asked first what a tag means."""
        return self.manifest_from.get(site_of(host), "upstream")

    @property
    def hosts(self) -> frozenset[str]:
        """Every host that the settings name, with its port if it has one."""
        return frozenset(mirror.host for mirrors in self.mirrors.values() for mirror in mirrors)


NO_MIRRORS = MirrorConfig(MappingProxyType({}), MappingProxyType({}))


def site_of(host: str) -> str:
    """The one name of a site that has several, in lower case."""
    return SAME_SITE.get(host.lower(), host.lower())


def read_text(text: str, origin: str) -> MirrorConfig:
    """A setting from the environment: JSON, or addresses with commas between them."""
    stripped = text.strip()
    if stripped[:1] in ("[", "{"):
        return read_json(stripped, origin)
    addresses = [part.strip() for part in stripped.split(",") if part.strip()]
    return _config(addresses, origin)


def read_json(text: str, origin: str, key: str = "") -> MirrorConfig:
    """A setting from a file, or from its `key` alone. Whatever is wrong with it becomes a problem."""
    cleaned = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not cleaned.strip():
        return MirrorConfig(origin=origin)
    try:
        content = json.loads(cleaned)
    except json.JSONDecodeError as error:
        where = f"{origin}, line {error.lineno}, column {error.colno}"
        return MirrorConfig(origin=origin, problems=(f"{where}: {_told(error, cleaned)}; no mirror is used",))
    except RecursionError:
        return MirrorConfig(origin=origin, problems=(f"{origin}: nested too deeply; no mirror is used",))
    if key:
        if not isinstance(content, dict) or key not in content:
            return MirrorConfig()
        content = content[key]
    elif isinstance(content, dict) and set(content) == {KEY}:
        content = content[KEY]
    return _config(content, origin)


def checked_url(text: str) -> str:
    """A mirror's address without the slash, or `/v2`, at its end. BadSetting."""
    address = text.strip()
    if any(char <= " " for char in address):
        raise BadSetting(f"{text!r:.200} has blanks in it")
    parts = urlsplit(address)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise BadSetting(f"{text!r:.200} is no address such as https://mirror.example.org")
    if parts.username is not None or parts.password is not None:
        raise BadSetting('a password in an address would end up in logs; name a place for it by "auth"')
    if parts.query or parts.fragment:
        raise BadSetting(f"{text!r:.200} has a query or a fragment, which no mirror's address has")
    try:
        parts.port  # noqa: B018  a property that checks
    except ValueError as error:
        raise BadSetting(f"{text!r:.200} has a port that is none") from error
    path = parts.path.rstrip("/").removesuffix("/v2")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path.rstrip('/')}"


def _told(error: json.JSONDecodeError, text: str) -> str:
    """The fault; JSON's own words for a comma too many name only what follows it."""
    before = text[: error.pos].rstrip()
    after = text[error.pos :].lstrip()[:1]
    if before.endswith(",") and after in ("]", "}"):
        return f"a comma before the closing {after}"
    return error.msg


def _config(content: object, origin: str) -> MirrorConfig:
    found: dict[str, list[Mirror]] = {}
    orders: dict[str, ManifestFrom] = {}
    problems: list[str] = []
    for number, (site, entry) in enumerate(_entries(content), 1):
        where = f"{origin}, entry {number}"
        try:
            upstream, mirror, order = _entry(site, entry)
        except BadSetting as error:
            problems.append(f"{where}: {error}; it is left out")
            continue
        known = found.setdefault(upstream, [])
        if mirror not in known:
            known.append(mirror)
        if order is not None:
            orders[upstream] = order
        unknown = sorted(set(entry) - _KEYS) if isinstance(entry, dict) else []
        if unknown:
            problems.append(f"{where}: {', '.join(map(str, unknown))[:200]}: no such key; it has no effect")
    ordered = {
        site: tuple(sorted(known, key=lambda mirror: mirror.priority)) for site, known in found.items()
    }
    return MirrorConfig(ordered, orders, origin, tuple(problems))


def _entries(content: object) -> Iterator[tuple[str, object]]:
    """Each entry with the site that it is for."""
    if isinstance(content, dict) and not {"url", "location"} & set(content):
        for site, value in content.items():
            for entry in _listed(value):
                yield str(site), entry
        return
    for entry in _listed(content):
        yield REGISTRY, entry


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _entry(site: str, entry: object) -> tuple[str, Mirror, ManifestFrom | None]:
    fields = {"url": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict):
        raise BadSetting(f"{json.dumps(entry)[:100]} is neither an address nor an object")
    address = fields.get("url", fields.get("location"))
    if not isinstance(address, str):
        raise BadSetting('an entry needs a "url"')
    order = fields.get("manifest_from")
    if order is not None and order not in _MANIFEST_FROM:
        raise BadSetting(f'"manifest_from" is one of {", ".join(_MANIFEST_FROM)}')
    mirror = Mirror(
        checked_url(address),
        priority=_integer(fields, "priority"),
        connections=max(_integer(fields, "connections"), 0),
        auth=_auth(_string(fields, "auth")),
        ca_file=_string(fields, "ca_file"),
        proxy=_string(fields, "proxy"),
        insecure=_flag(fields, "insecure"),
    )
    return _site(_string(fields, "upstream") or site), mirror, cast("ManifestFrom | None", order)


def _site(text: str) -> str:
    """The host of a site that was given as a host or as an address. BadSetting."""
    host = urlsplit(text if "://" in text else f"https://{text}").netloc
    if not host or "@" in host or any(char <= " " for char in host):
        raise BadSetting(f"{text!r:.100} is no host")
    return site_of(host)


def _auth(text: str) -> str:
    kind, _, place = text.partition(":")
    if text and (kind not in ("env", "file") or not place):
        raise BadSetting('"auth" is env:NAME or file:PATH, the place of a token, not the token itself')
    return text


def _string(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise BadSetting(f'"{key}" must be a text')
    return value


def _integer(fields: Mapping[str, object], key: str) -> int:
    value = fields.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadSetting(f'"{key}" must be a whole number')
    return value


def _flag(fields: Mapping[str, object], key: str) -> bool:
    value = fields.get(key, False)
    if not isinstance(value, bool):
        raise BadSetting(f'"{key}" must be true or false')
    return value
