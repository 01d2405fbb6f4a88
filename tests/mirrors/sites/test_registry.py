"""Plans from registries: whom to ask what a tag means, logins, mirrors, and answers that cannot be right."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from mirrors.config import ManifestFrom, Mirror
from mirrors.errors import BadAnswer, MirrorsError, NotPermitted, NotThere, Refused, Unreachable
from mirrors.identity import Identity
from mirrors.questions import Questions
from mirrors.sites.plans import ManifestPlan
from mirrors.sites.registry import Place, Repository, places_of, plan
from mirrors.sources import Access
from tests.mirrors.registries import CONFIG_DATA, Registry, digest_of, questions, registry

HERE = Access(private=True)
NAMED = Repository("library", "fox", "1b")
WEIGHTS = b"GGUF weights"


@pytest.fixture
async def web() -> AsyncIterator[Questions]:
    async with questions() as asked:
        yield asked


@pytest.fixture
async def upstream() -> AsyncIterator[Registry]:
    async with registry() as running:
        running.add("library/fox:1b", CONFIG_DATA, ("model", WEIGHTS), ("template", b"{{ .Prompt }}"))
        yield running


@pytest.fixture
async def other() -> AsyncIterator[Registry]:
    async with registry() as running:
        yield running


def places(
    web: Questions, base: str, *mirrors: Mirror, secrets: Mapping[str, str] | None = None
) -> tuple[Place, ...]:
    def credential(place: str) -> str:
        return (secrets or {})[place]

    return places_of(web, base, mirrors, lambda: Identity(bytes(32)), {"User-Agent": "x"}, credential, HERE)


async def planned(
    found: Sequence[Place], asked: Repository = NAMED, order: ManifestFrom = "upstream"
) -> ManifestPlan:
    return await plan(found, asked, order)


async def test_the_manifest_is_kept_as_it_came(web: Questions, upstream: Registry) -> None:
    found = await planned(places(web, upstream.url))
    assert found.manifest == upstream.manifests["library/fox:1b"]
    assert [(blob.digest, blob.size) for blob in found.blobs] == [
        (digest_of(WEIGHTS), len(WEIGHTS)),
        (digest_of(b"{{ .Prompt }}"), 13),
        (digest_of(CONFIG_DATA), len(CONFIG_DATA)),
    ]
    assert found.blobs[0].starts_with == (b"GGUF",)
    assert found.blobs[0].name == f"pulling {digest_of(WEIGHTS)[7:19]}"
    accept = [headers["Accept"] for _, _, headers in upstream.log]
    assert accept == ["application/vnd.docker.distribution.manifest.v2+json"]


async def test_a_login_is_made_once_and_stays_with_its_registry(
    web: Questions, upstream: Registry, other: Registry
) -> None:
    upstream.token = "secret"
    found = await planned(places(web, upstream.url, Mirror(other.url)))
    assert upstream.paths() == ["/v2/library/fox/manifests/1b", "/token", "/v2/library/fox/manifests/1b"]
    signed = upstream.log[1][2]["Authorization"]
    assert signed.startswith(Identity(bytes(32)).public_text + ":")
    mirror, own = found.blobs[0].sources
    assert (mirror.mirror, own.mirror) == (other.host, upstream.host)
    assert "Authorization" not in mirror.headers
    assert own.headers["Authorization"] == "Bearer secret"


async def test_a_source_is_renewed_with_a_token(web: Questions, upstream: Registry) -> None:
    (source,) = (await planned(places(web, upstream.url))).blobs[0].sources
    assert "Authorization" not in source.headers
    upstream.token = "later"
    assert source.renew is not None
    assert (await source.renew()).headers["Authorization"] == "Bearer later"


async def test_a_second_refusal_is_the_end(web: Questions, upstream: Registry) -> None:
    upstream.token = "x"
    upstream.refuse = {"/manifests/": 401}
    with pytest.raises(NotPermitted):
        await planned(places(web, upstream.url))


async def test_nothing_is_signed_for_another_host(
    web: Questions, upstream: Registry, other: Registry
) -> None:
    upstream.token, upstream.realm = "x", f"{other.url}/token"
    with pytest.raises(Refused, match="does not match original host"):
        await planned(places(web, upstream.url))
    assert other.log == []


async def test_a_mirrors_own_credential(web: Questions, upstream: Registry, other: Registry) -> None:
    mirror_of_ours = Mirror(other.url, auth="env:T")
    found = await planned(places(web, upstream.url, mirror_of_ours, secrets={"env:T": "own"}))
    mirror, own = found.blobs[0].sources
    assert mirror.headers["Authorization"] == "Bearer own"
    assert "Authorization" not in own.headers


async def test_a_mirror_stands_in_when_the_registry_is_down(
    web: Questions, upstream: Registry, other: Registry
) -> None:
    other.manifests, upstream.refuse = dict(upstream.manifests), {"/manifests/": 503}
    found = await planned(places(web, upstream.url, Mirror(other.url, insecure=True)))
    assert found.notes == (f"manifest from {other.host}",)
    with pytest.raises(Unreachable, match="plain HTTP"):
        await planned(places(web, upstream.url, Mirror(other.url)))


async def test_what_the_registry_does_not_have_is_not_taken_from_a_mirror(
    web: Questions, upstream: Registry, other: Registry
) -> None:
    other.manifests, upstream.manifests = upstream.manifests, {}
    with pytest.raises(NotThere) as missing:
        await planned(places(web, upstream.url, Mirror(other.url, insecure=True)))
    assert str(missing.value) == "pull model manifest: file does not exist"
    assert other.log == []


@pytest.mark.parametrize("insecure", [True, False])
async def test_a_digest_makes_any_word_as_good(
    web: Questions, upstream: Registry, other: Registry, insecure: bool
) -> None:
    pinned = Repository("library", "fox", "1b", digest_of(upstream.manifests["library/fox:1b"]))
    other.manifests, upstream.manifests = upstream.manifests, {"library/fox:1b": b"{}"}
    found = await planned(places(web, upstream.url, Mirror(other.url, insecure=insecure)), pinned)
    assert digest_of(found.manifest) == pinned.digest
    with pytest.raises(BadAnswer, match="has another library/fox:1b"):
        await planned(places(web, upstream.url), pinned)


async def test_orders(web: Questions, upstream: Registry, other: Registry) -> None:
    other.add("library/fox:1b", CONFIG_DATA, ("model", b"GGUF older"))
    both = places(web, upstream.url, Mirror(other.url, insecure=True))
    assert (await planned(both, order="mirror")).manifest == other.manifests["library/fox:1b"]
    with pytest.raises(BadAnswer, match="each mean something else"):
        await planned(both, order="quorum")
    other.manifests = upstream.manifests
    assert (await planned(both, order="quorum")).manifest == upstream.manifests["library/fox:1b"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"layers": 5}, "layers are no list"),
        ({"layers": [5]}, "no object"),
        ({"layers": [{"digest": "sha256:../../x", "size": 1}]}, "digest that is none"),
        ({"layers": [{"digest": "sha256:" + "A" * 64, "size": 1}]}, "digest that is none"),
        ({"layers": [{"digest": "md5:" + "a" * 64, "size": 1}]}, "digest that is none"),
        ({"layers": [{"digest": "sha256:" + "a" * 64, "size": -1}]}, "size that is none"),
        ({"layers": [{"digest": "sha256:" + "a" * 64, "size": 1 << 63}]}, "size that is none"),
        ({"layers": [{"digest": "sha256:" + "a" * 64, "size": (1 << 63) - 1}]}, "absurd sizes"),
        ({"layers": [{"digest": "sha256:" + "a" * 64, "size": True}]}, "size that is none"),
        ({"layers": [{"mediaType": "application/vnd.ollama.image.system", "digest": "sha256:" + "a" * 64,
                      "size": 1 << 30}]}, "system is said to have"),
        ({"layers": [{"mediaType": "application/vnd.ollama.image.embed", "digest": "sha256:" + "a" * 64,
                      "size": 1}]}, "old form"),
        ({"config": None}, "config that is no object"),
        ({"schemaVersion": 1}, "another kind"),
    ],
)  # fmt: skip
async def test_manifests_that_cannot_be_right(
    web: Questions, upstream: Registry, change: dict[str, object], fault: str
) -> None:
    content = json.loads(upstream.manifests["library/fox:1b"])
    upstream.manifests["library/fox:1b"] = json.dumps({**content, **change}).encode()
    with pytest.raises(BadAnswer) as refused:
        await planned(places(web, upstream.url))
    assert fault in str(refused.value)
    assert upstream.host in str(refused.value)


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b"[" * 100000, b" " * (5 << 20)])
async def test_manifests_that_are_none(web: Questions, upstream: Registry, data: bytes) -> None:
    upstream.manifests["library/fox:1b"] = data
    with pytest.raises(BadAnswer):
        await planned(places(web, upstream.url))


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [(412, Refused, "412"), (400, Refused, "refused"), (403, NotPermitted, "403"), (429, Unreachable, "429"),
     (500, Unreachable, "500"), (404, NotThere, "file does not exist")],
)  # fmt: skip
async def test_refusals(
    web: Questions, upstream: Registry, status: int, kind: type[MirrorsError], text: str
) -> None:
    upstream.refuse = {"/manifests/": status}
    with pytest.raises(kind, match=text):
        await planned(places(web, upstream.url))


async def test_passing_faults_are_tried_again(web: Questions, upstream: Registry) -> None:
    upstream.refuse = {"/manifests/": 503}
    with pytest.raises(Unreachable):
        await planned(places(web, upstream.url))
    assert len(upstream.log) == 3


async def test_nobody_there(web: Questions) -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1 "):
        await planned(places(web, "http://127.0.0.1:1"))
