"""Plans from hubs: lists of files, what is chosen, and from where each file can come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mirrors.config import MirrorConfig, read_json
from mirrors.errors import BadAnswer, MirrorsError, NoChoice, NotPermitted, NotThere
from mirrors.identity import Identity
from mirrors.questions import Questions
from mirrors.reference import HubRepository, Reference, parse
from mirrors.sites.finding import Sites, SiteSettings
from mirrors.sites.plans import FilesPlan, ManifestPlan
from mirrors.sources import Access
from tests.mirrors.hubs import COMMIT, Hub, hub, sha256
from tests.mirrors.registries import CONFIG_DATA, digest_of, questions, registry

WEIGHTS, OTHER = b"GGUF of four bits", b"GGUF of eight bits, longer"


@pytest.fixture
async def web() -> AsyncIterator[Questions]:
    async with questions() as asked:
        yield asked


@pytest.fixture
async def upstream() -> AsyncIterator[Hub]:
    async with hub() as running:
        running.files = {
            "m-Q4_K_M.gguf": WEIGHTS,
            "m-Q8_0.gguf": OTHER,
            "mmproj-F16.gguf": b"GGUF eyes",
            "template": b"{{ .Prompt }}",
            "LICENSE": b"free",
            "README.md": b"read me",
        }
        yield running


@pytest.fixture
async def mirror() -> AsyncIterator[Hub]:
    async with hub() as running:
        yield running


def sites(endpoints: dict[str, str], mirrors: MirrorConfig | None = None, **tokens: str) -> Sites:
    config = mirrors or MirrorConfig()
    settings = SiteSettings("agent", endpoints, tokens)
    return Sites(settings, lambda: config, lambda: Identity(bytes(32)), lambda place: "own token")


async def planned(web: Questions, found: Sites, reference: str = "hf.co/org/repo") -> FilesPlan:
    plan = await found.plan(parse(reference), web, Access(private=True))
    assert isinstance(plan, FilesPlan)
    return plan


def urls(plan: FilesPlan, file: str) -> list[str]:
    return [source.url for source in plan.files[file].sources]


async def test_files_of_hugging_face(web: Questions, upstream: Hub) -> None:
    plan = await planned(web, sites({"huggingface": upstream.url}))
    assert list(plan.files) == ["mmproj-F16.gguf", "m-Q4_K_M.gguf"]
    weights = plan.files["m-Q4_K_M.gguf"]
    assert (weights.digest, weights.size) == (f"sha256:{sha256(WEIGHTS)}", len(WEIGHTS))
    assert urls(plan, "m-Q4_K_M.gguf") == [f"{upstream.url}/org/repo/resolve/{COMMIT}/m-Q4_K_M.gguf"]
    assert plan.texts == (("template", "{{ .Prompt }}"), ("license", "free"))
    assert plan.notes == ("projector: mmproj-F16.gguf",)


async def test_a_tag_chooses(web: Questions, upstream: Hub) -> None:
    plan = await planned(web, sites({"huggingface": upstream.url}), "hf.co/org/repo:q8_0")
    assert "m-Q8_0.gguf" in plan.files
    with pytest.raises(NoChoice, match=r"m-Q4_K_M\.gguf, m-Q8_0\.gguf"):
        await planned(web, sites({"huggingface": upstream.url}), "hf.co/org/repo:Q5_0")


async def test_all_pages_of_a_list_of_one_host(web: Questions, upstream: Hub) -> None:
    upstream.page = 2
    plan = await planned(web, sites({"huggingface": upstream.url}), "hf.co/org/repo:Q8_0")
    assert "m-Q8_0.gguf" in plan.files
    upstream.next_host = "http://127.0.0.2:1"
    with pytest.raises(BadAnswer, match="at another host"):
        await planned(web, sites({"huggingface": upstream.url}))


async def test_modelscope(web: Questions, upstream: Hub) -> None:
    plan = await planned(web, sites({"modelscope": upstream.url}), "modelscope.cn/org/repo:Q8_0")
    assert urls(plan, "m-Q8_0.gguf") == [f"{upstream.url}/models/org/repo/resolve/master/m-Q8_0.gguf"]
    assert plan.files["m-Q8_0.gguf"].digest == f"sha256:{sha256(OTHER)}"


async def test_modelscopes_silent_cap(web: Questions, upstream: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirrors.sites.modelscope._CAP", 3)
    upstream.cap = 3
    upstream.files = {"a/x.txt": b"1", "a/y.txt": b"2", "b/z.txt": b"3", "c/m-Q8_0.gguf": OTHER}
    plan = await planned(web, sites({"modelscope": upstream.url}), "modelscope.cn/org/repo")
    assert list(plan.files) == ["c/m-Q8_0.gguf"]


async def test_parts_in_a_folder(web: Questions, upstream: Hub) -> None:
    names = [f"Q2_K/m-Q2_K-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    upstream.files |= {name: name.encode() for name in names}
    plan = await planned(web, sites({"huggingface": upstream.url}), "hf.co/org/repo:Q2_K")
    assert [name for name in plan.files if "mmproj" not in name] == names
    del upstream.files[names[1]]
    with pytest.raises(NoChoice, match="missing: Q2_K/m-Q2_K-00002-of-00003"):
        await planned(web, sites({"huggingface": upstream.url}), "hf.co/org/repo:Q2_K")


async def test_mirrors_come_first_and_get_no_token(web: Questions, upstream: Hub, mirror: Hub) -> None:
    config = read_json(f'{{"huggingface.co": {{"url": "{mirror.url}", "connections": 3}}}}', "f")
    plan = await planned(web, sites({"huggingface": upstream.url}, config))
    first, second = plan.files["m-Q4_K_M.gguf"].sources
    assert (first.url, first.connections) == (f"{mirror.url}/org/repo/resolve/{COMMIT}/m-Q4_K_M.gguf", 3)
    assert second.url.startswith(upstream.url)
    assert mirror.log == []


async def test_a_moved_endpoint_gets_no_token_of_the_hub(web: Questions, upstream: Hub) -> None:
    await planned(web, sites({"huggingface": upstream.url}, huggingface="hf_secret"))
    assert upstream.log
    assert all("Authorization" not in headers for _, headers in upstream.log)


async def test_a_list_from_a_mirror_that_may_be_believed(web: Questions, upstream: Hub, mirror: Hub) -> None:
    mirror.files, upstream.refuse = upstream.files, {"/api/": (503, "")}
    config = read_json(f'{{"hf.co": {{"url": "{mirror.url}", "insecure": true}}}}', "f")
    plan = await planned(web, sites({"huggingface": upstream.url}, config))
    assert plan.notes[0] == f"list of files from {mirror.host}"
    plain = read_json(f'{{"hf.co": "{mirror.url}"}}', "f")
    with pytest.raises(MirrorsError, match="503"):
        await planned(web, sites({"huggingface": upstream.url}, plain))


async def test_the_other_hub_serves_what_is_the_same_there(
    web: Questions, upstream: Hub, mirror: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.files = {"m-Q4_K_M.gguf": WEIGHTS, "m-Q8_0.gguf": b"GGUF of the same name"}
    monkeypatch.setattr("mirrors.sites.finding.HUB_HOSTS", {mirror.host: "modelscope"})
    config = read_json(f'{{"hf.co": "{mirror.url}"}}', "f")
    found = sites({"huggingface": upstream.url}, config)
    same = await planned(web, found, "hf.co/org/repo:Q4_K_M")
    assert urls(same, "m-Q4_K_M.gguf")[0] == f"{mirror.url}/models/org/repo/resolve/master/m-Q4_K_M.gguf"
    other = await planned(web, found, "hf.co/org/repo:Q8_0")
    assert [url for url in urls(other, "m-Q8_0.gguf") if url.startswith(mirror.url)] == []


async def test_a_bridge_describes_the_model_whole(web: Questions) -> None:
    async with registry() as bridge:
        bridge.add("org/repo:Q4_K_M", CONFIG_DATA, ("model", WEIGHTS))
        reference: Reference = HubRepository("huggingface", "org", "repo", "Q4_K_M")
        found = sites({"huggingface": bridge.url})
        insecure = Access(private=True, insecure=True)
        plan = await found.plan(reference, web, insecure)
        assert isinstance(plan, ManifestPlan)
        assert plan.blobs[0].digest == digest_of(WEIGHTS)


@pytest.mark.parametrize(
    ("refuse", "kind", "text"),
    [
        ({"/api/": (401, "GatedRepo")}, NotPermitted, "accept a licence"),
        ({"/api/": (401, "")}, NotPermitted, "does not exist, or is private"),
        ({"/api/": (404, "RepoNotFound")}, NotThere, "has no repository org/repo"),
        ({"/resolve/": (403, "")}, NotPermitted, "template"),
    ],
)
async def test_refusals(
    web: Questions, upstream: Hub, refuse: dict[str, Any], kind: type[MirrorsError], text: str
) -> None:
    upstream.refuse = refuse
    with pytest.raises(kind, match=text):
        await planned(web, sites({"huggingface": upstream.url}))


@pytest.mark.parametrize("path", ["../../passwd.gguf", "/abs.gguf", "a\\b.gguf", "c:d.gguf", "M-q8_0.gguf"])
async def test_lists_with_paths_that_lead_elsewhere(web: Questions, upstream: Hub, path: str) -> None:
    upstream.extra = [{"type": "file", "path": path, "size": 5}]
    with pytest.raises(BadAnswer):
        await planned(web, sites({"huggingface": upstream.url}))


@pytest.mark.parametrize("entry", [{"path": 5}, {}, {"type": "file"}])
async def test_lists_that_are_none(web: Questions, upstream: Hub, entry: dict[str, object]) -> None:
    upstream.extra = [entry]
    with pytest.raises(BadAnswer, match="entry that is none"):
        await planned(web, sites({"huggingface": upstream.url}))


async def test_a_hub_that_does_not_answer_has_little_time_when_there_are_mirrors(
    web: Questions, mirror: Hub, upstream: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrors.sites.hub.PATIENCE_SECONDS", 0.05)
    mirror.files = upstream.files
    config = read_json(f'{{"hf.co": {{"url": "{mirror.url}", "insecure": true}}}}', "f")
    async with silent() as nobody:
        plan = await planned(web, sites({"huggingface": nobody}, config))
    assert plan.notes[0] == f"list of files from {mirror.host}"


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that takes connections and says nothing."""
    done = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        done.set()
        server.close()
        await server.wait_closed()
