"""Pushes: what a registry gets, and what it is not sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mirrors.errors import MirrorsError, NotPermitted, PushFailed
from modelfiles.names import parse_name
from modelfiles.package import CONFIG_TYPE, LAYER_TYPE, Layer, Manifest, encode_manifest
from shim.errors import ApiError
from shim.pushing import PushRequest
from shim.transfers import PullProgress
from tests.mirrors.registries import CONFIG_DATA, Registry, digest_of, registry
from tests.shim.fetching_fakes import Around, around

WEIGHTS = b"GGUF" + bytes(range(256)) * 100


@pytest.fixture
async def remote() -> AsyncIterator[Registry]:
    async with registry() as running:
        yield running


@pytest.fixture
async def here(tmp_path: Path, remote: Registry) -> AsyncIterator[Around]:
    async with around(tmp_path) as made:
        config = made.store.write_blob([CONFIG_DATA])
        weights = made.store.write_blob([WEIGHTS])
        manifest = Manifest(
            Layer(CONFIG_TYPE, config, len(CONFIG_DATA)),
            (Layer(LAYER_TYPE + "model", weights, len(WEIGHTS), from_=f"{remote.host}/library/fox:1b"),),
        )
        made.store.write_manifest(parse_name(f"{remote.host}/me/fox:1b"), encode_manifest(manifest))
        yield made


async def pushed(here: Around, remote: Registry, name: str = "me/fox:1b") -> list[PullProgress]:
    request = PushRequest(f"{remote.host}/{name}", insecure=True, is_local=True)
    return [item async for item in here.pushes.push(request)]


async def test_all_of_a_model_gets_there(here: Around, remote: Registry) -> None:
    items = await pushed(here, remote)
    assert remote.blobs == {digest_of(WEIGHTS): WEIGHTS, digest_of(CONFIG_DATA): CONFIG_DATA}
    own = here.store.manifest_bytes(parse_name(f"{remote.host}/me/fox:1b"))
    assert remote.manifests == {"me/fox:1b": own}
    assert list(dict.fromkeys(item.status for item in items)) == [
        "retrieving manifest",
        f"pushing {digest_of(WEIGHTS)[7:19]}",
        f"pushing {digest_of(CONFIG_DATA)[7:19]}",
        "pushing manifest",
        "success",
    ]
    (last,) = [item for item in items if item.digest == digest_of(WEIGHTS) and item.completed]
    assert (last.completed, last.total) == (len(WEIGHTS), len(WEIGHTS))


async def test_what_is_there_is_not_sent(here: Around, remote: Registry) -> None:
    remote.blobs[digest_of(WEIGHTS)] = WEIGHTS
    await pushed(here, remote)
    assert len(remote.uploads) == 1  # the config


async def test_a_login_is_made_and_kept(here: Around, remote: Registry) -> None:
    remote.token = "secret"
    assert (await pushed(here, remote))[-1].status == "success"
    assert remote.paths().count("/token") == 1


async def test_nobody_may_write(here: Around, remote: Registry) -> None:
    remote.refuse = {"/uploads/": 403}
    with pytest.raises(NotPermitted, match="unauthorized"):
        await pushed(here, remote)
    assert remote.manifests == {}


async def test_the_manifest_is_refused(here: Around, remote: Registry) -> None:
    remote.refuse = {"/manifests/": 400}
    with pytest.raises(PushFailed, match="does not take the manifest: 400: X: refused"):
        await pushed(here, remote)


async def test_a_model_that_is_not_here(here: Around, remote: Registry) -> None:
    request = PushRequest(f"{remote.host}/me/none", insecure=True, is_local=True)
    items = here.pushes.push(request)
    seen = [(await anext(items)).status, (await anext(items)).status]
    assert seen == ["retrieving manifest", "couldn't retrieve manifest"]
    with pytest.raises(PushFailed, match="no such file"):
        await anext(items)


async def test_a_damaged_blob_is_not_sent(here: Around, remote: Registry) -> None:
    here.store.blob_path(digest_of(WEIGHTS)).write_bytes(b"short")
    with pytest.raises(Exception, match="is damaged"):
        await pushed(here, remote)
    assert remote.uploads == {}


@pytest.mark.parametrize(("model", "text"), [("", "model is required"), ("a b", "invalid model name")])
async def test_names_that_are_none(here: Around, model: str, text: str) -> None:
    with pytest.raises(ApiError, match=text):
        here.pushes.push(PushRequest(model))


async def test_plain_http_must_be_meant(here: Around, remote: Registry) -> None:
    request = PushRequest(f"http://{remote.host}/me/fox:1b", is_local=True)
    with pytest.raises(MirrorsError, match="insecure protocol http"):
        async for _ in here.pushes.push(request):
            pass
