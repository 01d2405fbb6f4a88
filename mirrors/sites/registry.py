"""Registries that speak Ollama's protocol: manifests by tag, blobs by digest, mirrors for both.

What a tag means is asked of the registry itself, and of a mirror only if that does not answer in time or a
setting says so; a blob may come from anywhere, since its digest proves it. Nothing here depends on HEAD for
manifests, on lists of tags, or on manifests by digest, which registries do not have or have broken.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from mirrors.asking import Web, failure
from mirrors.config import ManifestFrom, Mirror
from mirrors.errors import BadAnswer, MirrorsError, NotThere, Unreachable
from mirrors.identity import Identity
from mirrors.login import Login
from mirrors.manifest import LARGEST_BYTES, Blob, digest_of, read_manifest
from mirrors.sites.plans import ManifestPlan
from mirrors.sources import Access, Source, Wanted

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
# How long a registry that has mirrors may take to say what a tag means
PATIENCE_SECONDS = 5.0
_USUAL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """A registry or a mirror of one, for one repository: where it is, who it is, how it is asked."""

    base: str
    label: str
    login: Login
    access: Access = Access()  # noqa: RUF009  frozen
    connections: int = 0
    may_name: bool = True


@dataclass(frozen=True, slots=True)
class Repository:
    """What is asked for: parts of names that were checked before they become a part of an address."""

    namespace: str
    model: str
    tag: str
    digest: str | None = None

    @property
    def path(self) -> str:
        return f"/v2/{quote(self.namespace)}/{quote(self.model)}"

    @property
    def shown(self) -> str:
        return f"{self.namespace}/{self.model}:{self.tag}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest's bytes and who sent them."""

    data: bytes
    place: Place


def places_of(
    web: Web,
    base: str,
    mirrors: Sequence[Mirror],
    identity: Callable[[], Identity],
    headers: Mapping[str, str],
    credential: Callable[[str], str],
    access: Access,
) -> tuple[Place, ...]:
    """The registry at `base`, and behind it its mirrors, which get no other credential than their own."""
    found = [Place(base, _host(base), Login(web, identity, headers, access), access)]
    for mirror in mirrors:
        own = credential(mirror.auth) if mirror.auth else ""
        sent = {**headers, "Authorization": f"Bearer {own}"} if own else headers
        login = Login(web, identity, sent, access_of(mirror))
        place = Place(mirror.url, mirror.host, login, access_of(mirror), mirror.connections, mirror.may_name)
        found.append(place)
    return tuple(found)


async def plan(
    places: Sequence[Place], repository: Repository, order: ManifestFrom = "upstream"
) -> ManifestPlan:
    """What to fetch for a model. The first place is the registry itself. MirrorsError."""
    manifest = await find_manifest(places, repository, order)
    blobs = read_manifest(manifest.data, manifest.place.label)
    # Those that were asked for by name come first: they are near; the registry itself is always there.
    wanted = tuple(wanted_blob(blob, [*places[1:], places[0]], repository) for blob in blobs)
    notes = [] if manifest.place is places[0] else [f"manifest from {manifest.place.label}"]
    return ManifestPlan(manifest.data, wanted, tuple(notes))


def wanted_blob(blob: Blob, places: Sequence[Place], repository: Repository) -> Wanted:
    """A blob with all the places that may have it."""
    sources = tuple(_source(place, repository, blob.digest) for place in places)
    return Wanted(blob.label, sources, blob.digest, blob.size, blob.starts_with)


async def find_manifest(places: Sequence[Place], repository: Repository, order: ManifestFrom) -> Manifest:
    """The manifest, from whom the order says. A digest in the name makes everybody's word as good."""
    upstream, naming = places[0], [place for place in places[1:] if place.may_name or repository.digest]
    if order == "quorum" and naming and not repository.digest:
        return await _agreed([upstream, *naming], repository)
    asked = [*naming, upstream] if order == "mirror" else [upstream, *naming]
    failures: list[MirrorsError] = []
    for place in asked:
        seconds = PATIENCE_SECONDS if place is upstream and naming else _USUAL_SECONDS
        try:
            return Manifest(await _manifest(place, repository, seconds), place)
        except NotThere as error:
            if place is upstream and not repository.digest:
                raise  # it knows; mirrors may be behind
            failures.append(error)
        except MirrorsError as error:
            failures.append(error)
    raise _combined(failures, places)


async def _manifest(place: Place, repository: Repository, seconds: float) -> bytes:
    url = f"{place.base}{repository.path}/manifests/{quote(repository.tag)}"
    headers = {"Accept": MANIFEST_TYPE}
    answer = await place.login.ask("GET", url, headers, limit_bytes=LARGEST_BYTES + 1, seconds=seconds)
    if answer.status != 200:
        raise failure(answer, "pull model manifest")
    if repository.digest and digest_of(answer.body) != repository.digest:
        raise BadAnswer(f"{place.label} has another {repository.shown} than {repository.digest}")
    read_manifest(answer.body, place.label)
    return answer.body


async def _agreed(places: Sequence[Place], repository: Repository) -> Manifest:
    """What most say; at least two, or all if there is only one that answers at all."""
    answers = await asyncio.gather(
        *(_manifest(place, repository, _USUAL_SECONDS) for place in places), return_exceptions=True
    )
    said: list[Manifest] = []
    failures: list[MirrorsError] = []
    for place, answer in zip(places, answers, strict=True):
        if isinstance(answer, bytes):
            said.append(Manifest(answer, place))
        elif isinstance(answer, MirrorsError):
            failures.append(answer)
        else:
            raise answer
    if not said:
        raise _combined(failures, places)
    data, count = Counter(manifest.data for manifest in said).most_common(1)[0]
    if count < 2 and len(said) > 1:
        names = ", ".join(manifest.place.label for manifest in said)
        raise BadAnswer(f"{names} each mean something else by {repository.shown}; pin it by a digest")
    return next(manifest for manifest in said if manifest.data == data)


def _source(place: Place, repository: Repository, digest: str) -> Source:
    url = f"{place.base}{repository.path}/blobs/{digest}"
    source = Source(
        url, place.label, place.login.headers, connections=place.connections, access=place.access
    )

    async def renew() -> Source:
        """With a token, if the place wants one, which it says when it is asked."""
        await place.login.ask("HEAD", url)
        return replace(source, headers=place.login.headers, renew=renew)

    return replace(source, renew=renew)


def _combined(failures: Sequence[MirrorsError], places: Sequence[Place]) -> MirrorsError:
    """One error for several; the registry's own, if it said more than that it is not to be reached."""
    if len(failures) == 1:
        if isinstance(failures[0], Unreachable) and not all(place.may_name for place in places):
            return Unreachable(
                f"{failures[0]} (mirrors by plain HTTP are not asked what a tag means, "
                'unless their entry says "insecure": true)'
            )
        return failures[0]
    told = "; ".join(dict.fromkeys(map(str, failures)))
    if all(isinstance(error, NotThere) for error in failures):
        return NotThere(told)
    return Unreachable(f"nobody says what the model consists of: {told}")


def access_of(mirror: Mirror) -> Access:
    """A mirror that the user named may be anywhere; the rest is as its entry says."""
    return Access(True, mirror.insecure, mirror.ca_file, mirror.proxy or None)


def _host(base: str) -> str:
    return base.partition("://")[2].partition("/")[0]
