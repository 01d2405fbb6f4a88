"""Hubs: repositories of files, some of which are models. What the two that we know have in common.

A hub's bridge, which speaks the registry protocol and describes a model whole, is asked first. Where it has
none, or refuses (split files, quantisations with names of their own), the repository's list of files is read
and the files are chosen here. Mirrors of a hub serve files; one of the other hub is a further source for
those of its files that have the same size and digest, never for those that only have the same name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from mirrors.asking import Answer, Web, failure
from mirrors.choice import Chosen, RemoteFile, check_list, choose
from mirrors.config import ManifestFrom
from mirrors.errors import BadAnswer, MirrorsError, NotThere, Unreachable
from mirrors.reference import HubRepository
from mirrors.sites.plans import FilesPlan, ManifestPlan, Plan, unverified
from mirrors.sites.registry import PATIENCE_SECONDS, Place, Repository
from mirrors.sites.registry import plan as registry_plan
from mirrors.sources import Access, Source, Wanted

_TEXT_BYTES = 1 << 20
_LIST_SECONDS = 60.0

# Asks a place for what is at an address, with its credential
Ask: TypeAlias = Callable[[str], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository at one revision."""

    revision: str
    files: tuple[RemoteFile, ...]


class Site(Protocol):
    """One kind of hub; see `mirrors.sites.huggingface` and `mirrors.sites.modelscope`."""

    async def listing(self, base: str, repository: HubRepository, ask: Ask) -> Listing:
        """MirrorsError."""
        ...

    def file_url(self, base: str, repository: HubRepository, revision: str, path: str) -> str:
        """Where a file is."""
        ...


@dataclass(frozen=True, slots=True)
class HubPlace:
    """A hub or a mirror of one. `headers` carry its own credential, if the user gave one for it."""

    site: Site
    base: str
    label: str
    headers: Mapping[str, str]
    access: Access = Access()  # noqa: RUF009  frozen
    connections: int = 0
    may_name: bool = True
    is_same_hub: bool = True


@dataclass(frozen=True, slots=True)
class Hub:
    """Everything that is asked about one repository. The first place is the hub itself."""

    web: Web
    places: Sequence[HubPlace]
    bridge: Callable[[], Place]
    order: ManifestFrom = "upstream"


async def plan(hub: Hub, repository: HubRepository) -> Plan:
    """What to fetch for a repository's model. MirrorsError."""
    refused: MirrorsError | None = None
    if hub.order == "upstream":
        try:
            return await _bridged(hub, repository)
        except MirrorsError as error:
            refused = error
    try:
        return await _from_files(hub, repository)
    except MirrorsError as error:
        silent = (Unreachable, NotThere)  # a bridge that is down, or a hub that has none, explains nothing
        if refused is not None and isinstance(error, Unreachable) and not isinstance(refused, silent):
            raise refused from error
        raise


async def _bridged(hub: Hub, repository: HubRepository) -> ManifestPlan:
    asked = Repository(repository.owner, repository.name, repository.tag or "latest")
    patience = PATIENCE_SECONDS if len(hub.places) > 1 else None
    try:
        async with asyncio.timeout(patience):
            found = await registry_plan([hub.bridge()], asked)
    except TimeoutError as error:
        raise Unreachable(f"{hub.places[0].label} does not answer within {patience:g} seconds") from error
    if len(hub.places) == 1:
        return found
    return replace(found, blobs=await _with_mirrors(hub, repository, found.blobs))


async def _with_mirrors(
    hub: Hub, repository: HubRepository, blobs: tuple[Wanted, ...]
) -> tuple[Wanted, ...]:
    """Each blob that is a file of the repository can come from the mirrors too."""
    try:
        place, listing = await _listed(hub, repository)
    except MirrorsError:
        return blobs  # they come from the bridge alone
    by_digest = {f"sha256:{file.sha256}": file for file in listing.files if file.sha256}
    others = await _other_hubs(hub, repository)
    result = []
    for blob in blobs:
        file = by_digest.get(blob.digest or "")
        more = _sources(hub, repository, listing, place, file, others) if file else ()
        result.append(replace(blob, sources=(*more, *blob.sources)) if more else blob)
    return tuple(result)


async def _from_files(hub: Hub, repository: HubRepository) -> FilesPlan:
    place, listing = await _listed(hub, repository)
    chosen = choose(listing.files, repository.tag)
    _check_digests(chosen)
    others = await _other_hubs(hub, repository)
    files = {}
    for file in (*([chosen.projector] if chosen.projector else ()), *chosen.model):
        sources = _sources(hub, repository, listing, place, file, others)
        digest = f"sha256:{file.sha256}" if file.sha256 else None
        files[file.path] = Wanted(f"pulling {file.name}", sources, digest, file.size, (b"GGUF",))
    notes = [] if place is hub.places[0] else [f"list of files from {place.label}"]
    if chosen.projector:
        notes.append(f"projector: {chosen.projector.path}")
    notes += [unverified(name) for name, wanted in files.items() if wanted.digest is None]
    return FilesPlan(files, await _texts(hub, place, repository, listing, chosen), tuple(notes))


async def _listed(hub: Hub, repository: HubRepository) -> tuple[HubPlace, Listing]:
    """The list from whom the order says; who has mirrors gets little time."""
    naming = [place for place in hub.places[1:] if place.may_name and place.is_same_hub]
    upstream = hub.places[0]
    failures: list[MirrorsError] = []
    for place in [*naming, upstream] if hub.order == "mirror" else [upstream, *naming]:
        seconds = PATIENCE_SECONDS if place is upstream and naming else _LIST_SECONDS
        try:
            listing = await place.site.listing(place.base, repository, _asker(hub, place, seconds))
            check_list(listing.files)
        except NotThere:
            if place is upstream:
                raise
        except MirrorsError as error:
            failures.append(error)
        else:
            return place, listing
    raise failures[0] if len(failures) == 1 else Unreachable("; ".join(map(str, failures)))


async def _other_hubs(hub: Hub, repository: HubRepository) -> list[tuple[HubPlace, Listing]]:
    """What the other hub, if it was named as a mirror, has under the same name; nothing if it is silent."""
    places = [place for place in hub.places[1:] if not place.is_same_hub]
    asked = (
        place.site.listing(place.base, repository, _asker(hub, place, PATIENCE_SECONDS))
        for place in places
    )
    answers = await asyncio.gather(*asked, return_exceptions=True)
    paired = zip(places, answers, strict=True)
    return [(place, answer) for place, answer in paired if isinstance(answer, Listing)]


def _sources(
    hub: Hub,
    repository: HubRepository,
    listing: Listing,
    lister: HubPlace,
    file: RemoteFile,
    others: Sequence[tuple[HubPlace, Listing]],
) -> tuple[Source, ...]:
    """Mirrors first, the hub itself last. Without a digest, only the place whose list it is."""
    if not file.sha256:
        return (_source(lister, repository, listing.revision, file.path),)
    found = [
        _source(place, repository, listing.revision, file.path)
        for place in (*hub.places[1:], hub.places[0])
        if place.is_same_hub
    ]
    for place, other in others:
        for twin in other.files:
            if (twin.sha256, twin.size) == (file.sha256, file.size):
                found.insert(-1, _source(place, repository, other.revision, twin.path))
                break
    return tuple(found)


def _source(place: HubPlace, repository: HubRepository, revision: str, path: str) -> Source:
    url = place.site.file_url(place.base, repository, revision, path)
    return Source(
        url, place.label, place.headers, connections=place.connections, access=place.access
    )


def _asker(hub: Hub, place: HubPlace, seconds: float) -> Ask:
    async def ask(url: str) -> Answer:
        return await hub.web.ask("GET", url, place.headers, seconds=seconds, access=place.access)

    return ask


def _check_digests(chosen: Chosen) -> None:
    for file in chosen.model:
        if file.size == 0:
            raise BadAnswer(f"{file.path} is empty there")


async def _texts(
    hub: Hub, place: HubPlace, repository: HubRepository, listing: Listing, chosen: Chosen
) -> tuple[tuple[str, str], ...]:
    found = []
    for kind, file in chosen.texts:
        url = place.site.file_url(place.base, repository, listing.revision, file.path)
        answer = await hub.web.ask(
            "GET", url, place.headers, limit_bytes=_TEXT_BYTES, access=place.access
        )
        if answer.status != 200:
            raise failure(answer, file.path)
        found.append((kind, answer.body.decode("utf-8", "replace")))
    return tuple(found)
