"""Pulls: their streams, what is in the store afterwards, and what is not there when they fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from mirrors.errors import BadAnswer, MirrorsError, NoRoom, NotThere, Refused, WrongContent
from modelfiles.errors import BadGGUF, ModelNotFound
from modelfiles.names import parse_name
from modelfiles.store import Store
from shim.errors import ApiError
from shim.pulling import PullRequest
from shim.transfers import PullProgress
from tests.mirrors.hubs import hub
from tests.mirrors.registries import CONFIG_DATA, Registry, digest_of, registry
from tests.modelfiles.gguf.building import DENSE, I32, U16, Tensor, gguf
from tests.shim.fetching_fakes import Around, around

WEIGHTS = gguf(DENSE)
TEMPLATE = b"{{ .Prompt }}"


@pytest.fixture
async def remote() -> AsyncIterator[Registry]:
    async with registry() as running:
        running.add("library/fox:1b", CONFIG_DATA, ("model", WEIGHTS), ("template", TEMPLATE))
        yield running


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Around]:
    async with around(tmp_path) as made:
        yield made


async def pulled(here: Around, remote: Registry, name: str = "library/fox:1b") -> list[PullProgress]:
    request = PullRequest(f"{remote.host}/{name}", insecure=True, is_local=True)
    return [item async for item in here.pulls.pull(request)]


def statuses(items: list[PullProgress]) -> list[str]:
    return list(dict.fromkeys(item.status for item in items))


async def test_a_model_is_there_whole_and_its_stream_is_ollamas(here: Around, remote: Registry) -> None:
    items = await pulled(here, remote)
    manifest = remote.manifests["library/fox:1b"]
    name = parse_name(f"{remote.host}/library/fox:1b")
    assert here.store.manifest_bytes(name) == manifest
    assert here.store.load(name).template == TEMPLATE.decode()
    assert sorted(here.downloads.finished) == sorted(remote.blobs)
    assert list((here.store.root / ".partial").iterdir()) == []
    blobs = [f"pulling {digest_of(data)[7:19]}" for data in (WEIGHTS, TEMPLATE, CONFIG_DATA)]
    assert statuses(items) == [
        "pulling manifest", *blobs, "verifying sha256 digest", "writing manifest", "success",
    ]  # fmt: skip
    ends = {item.digest: item for item in items if item.digest}
    assert {digest: (item.completed, item.total) for digest, item in ends.items()} == {
        digest: (len(data), len(data)) for digest, data in remote.blobs.items()
    }


async def test_a_second_pull_fetches_nothing_and_says_the_same(here: Around, remote: Registry) -> None:
    first = await pulled(here, remote)
    here.downloads.asked.clear()
    second = await pulled(here, remote)
    assert here.downloads.asked == []
    assert statuses(second) == statuses(first)
    assert all(item.completed == item.total > 0 for item in second if item.digest)


async def test_a_blob_of_another_size_is_fetched_again(here: Around, remote: Registry) -> None:
    await pulled(here, remote)
    here.store.blob_path(digest_of(WEIGHTS)).write_bytes(b"GGUF")
    await pulled(here, remote)
    assert here.store.blob_path(digest_of(WEIGHTS)).read_bytes() == WEIGHTS


@pytest.mark.parametrize("noprune", [False, True])
async def test_what_only_the_old_version_needed_goes(tmp_path: Path, remote: Registry, noprune: bool) -> None:
    async with around(tmp_path, noprune=noprune) as here:
        await pulled(here, remote)
        remote.add("library/fox:1b", CONFIG_DATA, ("model", WEIGHTS), ("template", b"new"))
        items = await pulled(here, remote)
        assert ("removing unused layers" in statuses(items)) is not noprune
        assert here.store.has_blob(digest_of(TEMPLATE)) is noprune


async def test_small_blobs_fail_before_large_ones_are_fetched(
    here: Around, remote: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shim.pulling.SMALL_BYTES", len(WEIGHTS))
    del remote.blobs[digest_of(CONFIG_DATA)]
    with pytest.raises(NotThere):
        await pulled(here, remote)
    assert f"pulling {digest_of(WEIGHTS)[7:19]}" not in here.downloads.asked
    assert here.store.names() == []


async def test_wrong_content_gets_no_name(here: Around, remote: Registry) -> None:
    remote.blobs[digest_of(WEIGHTS)] = b"GGUF lies"
    with pytest.raises(MirrorsError):
        await pulled(here, remote)
    assert here.store.names() == []
    assert not here.store.has_blob(digest_of(WEIGHTS))


async def test_the_name_means_what_it_meant_when_a_pull_fails(here: Around, remote: Registry) -> None:
    await pulled(here, remote)
    before = remote.manifests["library/fox:1b"]
    remote.add("library/fox:1b", CONFIG_DATA, ("model", b"GGUF other"))
    del remote.blobs[digest_of(b"GGUF other")]
    with pytest.raises(NotThere):
        await pulled(here, remote)
    assert here.store.manifest_bytes(parse_name(f"{remote.host}/library/fox:1b")) == before


async def test_no_room(here: Around, remote: Registry) -> None:
    content = json.loads(remote.manifests["library/fox:1b"])
    content["layers"].append(
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + "a" * 64, "size": 1 << 60}
    )
    remote.manifests["library/fox:1b"] = json.dumps(content).encode()
    with pytest.raises(NoRoom, match="no space left"):
        await pulled(here, remote)
    assert here.downloads.asked == []


async def test_a_reader_that_goes_away_stops_the_download(here: Around, remote: Registry) -> None:
    here.downloads.gate.clear()
    request = PullRequest(f"{remote.host}/library/fox:1b", insecure=True, is_local=True)
    async with aclosing(here.pulls.pull(request)) as items:
        async for item in items:
            if item.digest:
                break
        assert here.downloads.running > 0
    assert here.downloads.running == 0
    assert here.store.names() == []


async def test_two_pulls_at_once_both_succeed(here: Around, remote: Registry) -> None:
    both = await asyncio.gather(pulled(here, remote), pulled(here, remote))
    assert [items[-1].status for items in both] == ["success", "success"]


async def test_a_store_that_knows_another_spelling_keeps_it(here: Around, remote: Registry) -> None:
    await pulled(here, remote)
    remote.manifests["library/FOX:1B"] = remote.manifests["library/fox:1b"]
    await pulled(here, remote, "library/FOX:1B")
    assert [name.display for name in here.store.names()] == [f"{remote.host}/library/fox:1b"]


async def test_a_login_for_blobs(here: Around, remote: Registry) -> None:
    remote.token = "secret"
    assert (await pulled(here, remote))[-1].status == "success"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_blobs_that_are_elsewhere(here: Around, remote: Registry, status: int) -> None:
    async with registry() as storage:
        storage.blobs, remote.token = remote.blobs, "secret"
        remote.redirect, remote.redirect_status = storage.url, status
        assert (await pulled(here, remote))[-1].status == "success"
        assert all("Authorization" not in headers for _, _, headers in storage.log)


async def test_who_is_not_on_this_machine_cannot_have_the_inner_network_asked(
    here: Around, remote: Registry
) -> None:
    request = PullRequest(f"{remote.host}/library/fox:1b", insecure=True, is_local=False)
    with pytest.raises(Refused, match="not a public address"):
        async for _ in here.pulls.pull(request):
            pass
    assert remote.log == []


async def test_plain_http_must_be_meant(here: Around, remote: Registry) -> None:
    request = PullRequest(f"http://{remote.host}/library/fox:1b", is_local=True)
    with pytest.raises(Refused, match="insecure protocol http"):
        async for _ in here.pulls.pull(request):
            pass


async def test_a_model_that_is_not_there(here: Around, remote: Registry) -> None:
    with pytest.raises(NotThere) as missing:
        await pulled(here, remote, "library/none:1b")
    assert str(missing.value) == "pull model manifest: file does not exist"
    with pytest.raises(ModelNotFound):
        here.store.load(parse_name(f"{remote.host}/library/none:1b"))


async def test_a_model_that_is_here_stays_when_nobody_has_it_any_more(here: Around, remote: Registry) -> None:
    await pulled(here, remote)
    remote.manifests.clear()
    items = await pulled(here, remote)
    assert items[-1].status == "success"
    assert "keeping" in items[-2].status
    name = parse_name(f"{remote.host}/library/fox:1b")
    assert here.store.load(name).template == TEMPLATE.decode()
    here.store.blob_path(digest_of(TEMPLATE)).unlink()
    with pytest.raises(NotThere):
        await pulled(here, remote)


async def test_a_damaged_manifest_is_not_stored(here: Around, remote: Registry) -> None:
    remote.manifests["library/fox:1b"] = b"{}"
    with pytest.raises(BadAnswer):
        await pulled(here, remote)
    assert here.store.names() == []


@pytest.mark.parametrize(
    ("model", "status"),
    [("", 400), ("a b", 400), ("../x", 400), ("x:cloud", 403), ("x:1b-cloud", 403), ("hf.co/x", 400),
     ("https:///m.gguf", 400), ("ftp://h/a/b", 400)],
)  # fmt: skip
async def test_names_that_are_none(here: Around, model: str, status: int) -> None:
    with pytest.raises(ApiError) as refused:
        here.pulls.pull(PullRequest(model))
    assert refused.value.status == status


async def test_a_file_of_the_web(here: Around, remote: Registry) -> None:
    remote.blobs["small-Q8_0.gguf"] = WEIGHTS
    request = PullRequest(f"{remote.url}/storage/small-Q8_0.gguf", insecure=True, is_local=True)
    items = [item async for item in here.pulls.pull(request)]
    assert items[-1].status == "success"
    assert [name.display for name in here.store.names()] == [f"{remote.host}/files/small:Q8_0"]
    assert "pulling small-Q8_0.gguf" in statuses(items)
    assert "warning: no digest of small-Q8_0.gguf is published" in items[1].status


async def of_a_hub(folder: Path, files: dict[str, bytes], tag: str = "") -> tuple[Around, list[PullProgress]]:
    async with hub() as site:
        site.files = files
        async with around(folder, endpoints={"huggingface": site.url}) as here:
            return here, [item async for item in here.pulls.pull(PullRequest(f"hf.co/org/repo{tag}"))]


async def test_a_model_is_made_of_a_hubs_files(tmp_path: Path) -> None:
    files = {
        "m-Q8_0.gguf": WEIGHTS,
        "m-F16.gguf": b"GGUF other",
        "template": TEMPLATE,
        "system": b"Be brief.",
        "params": b'{"temperature": 0.5}',
        "LICENSE": b"free",
    }
    here, items = await of_a_hub(tmp_path, files, ":q8_0")
    package = here.store.load(parse_name("hf.co/org/repo:q8_0"))
    assert items[-1].status == "success"
    assert package.model_path is not None
    assert package.model_path.read_bytes() == WEIGHTS
    assert (package.template, package.system) == (TEMPLATE.decode(), "Be brief.")
    assert (package.parameters, package.licenses) == ({"temperature": 0.5}, ("free",))


@pytest.mark.parametrize("params", [b"{", b"[]", b"[" * 100000])
async def test_parameters_that_are_none(tmp_path: Path, params: bytes) -> None:
    with pytest.raises(BadAnswer, match="file params is no JSON"):
        await of_a_hub(tmp_path, {"m.gguf": WEIGHTS, "params": params})


async def test_weights_that_are_none_make_no_model(tmp_path: Path) -> None:
    with pytest.raises(BadGGUF):
        await of_a_hub(tmp_path, {"m.gguf": b"GGUF and nothing that follows"})
    assert Store(tmp_path / "models").names() == []


def part_of_two(index: int) -> bytes:
    keys: dict[str, tuple[int, object]] = {
        "split.no": (U16, index),
        "split.count": (U16, 2),
        "split.tensors.count": (I32, 2),
    }
    tensor: Tensor = (f"blk.{index}.weight", (32,), 0, 0, 128)
    return gguf({**DENSE, **keys} if index == 0 else keys, [tensor])


@pytest.mark.parametrize("bad", [None, 1, 2])
async def test_all_parts_or_no_model(tmp_path: Path, bad: int | None) -> None:
    """Parts in a folder; one that is not what the list says spoils the model."""
    parts = [part_of_two(index) for index in (0, 1)]
    files = {f"Q2_K/m-Q2_K-{number:05}-of-00002.gguf": part for number, part in enumerate(parts, 1)}
    async with hub() as site:
        site.files = files
        if bad is not None:
            site.served = {f"Q2_K/m-Q2_K-{bad:05}-of-00002.gguf": b"GGUF of someone else"}
        async with around(tmp_path, endpoints={"huggingface": site.url}) as here:
            steps = here.pulls.pull(PullRequest("hf.co/org/repo:Q2_K"))
            if bad is not None:
                with pytest.raises(WrongContent):
                    await _all(steps)
                assert here.store.names() == []
                return
            assert (await _all(steps))[-1].status == "success"
            package = here.store.load(parse_name("hf.co/org/repo:Q2_K"))
            assert [path.read_bytes() for path in package.model_paths] == parts


async def _all(steps: AsyncGenerator[PullProgress, None]) -> list[PullProgress]:
    return [item async for item in steps]
