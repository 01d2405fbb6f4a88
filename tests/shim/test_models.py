"""The models of a store as a service: what lists tell, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress
from modelfiles.describe import ShowOptions
from modelfiles.errors import BadGGUF, CreateError, ModelNotFound
from modelfiles.names import parse_name
from modelfiles.store import Store
from shim.bridge import Threads
from shim.headers import Headers
from shim.models import Models
from tests.modelfiles.gguf.building import DENSE, U32, gguf
from tests.shim.serving import CHATTING


class Runners:
    """Notes who is told to go."""

    def __init__(self) -> None:
        self.unloaded: list[str] = []

    async def unload(self, model: str) -> bool:
        self.unloaded.append(model)
        return True


class Shelf:
    """A service over a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder)
        self.headers = Headers()
        self.threads = Threads()
        self.runners = Runners()
        self.models = Models(self.store, self.headers, self.threads, self.runners)

    async def create(self, name: str, content: bytes, system: str = "") -> list[Progress]:
        digest = self.store.write_blob([content])
        request = CreateRequest(model=name, files={"m.gguf": digest}, system=system)
        return [item async for item in self.models.create(request)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "models")
    yield made
    made.threads.close()


async def test_create_reports_and_the_list_tells(shelf: Shelf) -> None:
    items = await shelf.create("Small", gguf(CHATTING))
    assert items[-1] == Progress("success")
    (summary,) = await shelf.models.summaries()
    assert summary.package.name.display == "Small:latest"
    assert (summary.details.context_length, summary.capabilities) == (8192, ("completion",))


async def test_a_request_that_cannot_be_is_refused_before_any_progress(shelf: Shelf) -> None:
    with pytest.raises(CreateError, match="invalid model name"):
        shelf.models.create(CreateRequest(model="a b"))


async def test_a_second_list_reads_no_headers(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    await shelf.create("a", gguf(CHATTING))
    await shelf.models.warm()

    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr(shelf.headers, "read", refuse)
    assert len(await shelf.models.summaries()) == 1


async def test_other_content_under_the_same_name_is_told_anew(shelf: Shelf) -> None:
    await shelf.create("a", gguf(CHATTING))
    await shelf.models.summaries()
    await shelf.create("a", gguf({**DENSE, "llama.context_length": (U32, 77)}))
    (summary,) = await shelf.models.summaries()
    assert summary.details.context_length == 77


async def test_damaged_weights_are_listed_but_not_described(shelf: Shelf) -> None:
    await shelf.create("a", gguf(CHATTING))
    (blob,) = (path for path in (shelf.store.root / "blobs").iterdir() if path.stat().st_size > 500)
    os.chmod(blob, 0o644)
    blob.write_bytes(b"GGUF")
    (summary,) = await shelf.models.summaries()
    assert summary.package.name.display == "a:latest"
    with pytest.raises(BadGGUF):
        await shelf.models.show(parse_name("a"), ShowOptions())


async def test_a_deleted_model_is_told_to_leave_by_the_name_of_the_store(shelf: Shelf) -> None:
    await shelf.create("Twin", gguf(CHATTING))
    await shelf.models.copy(parse_name("twin"), parse_name("other"))
    await shelf.models.delete(parse_name("twin"))
    assert shelf.runners.unloaded == ["Twin:latest"]
    assert [summary.package.name.display for summary in await shelf.models.summaries()] == ["other:latest"]
    with pytest.raises(ModelNotFound):
        await shelf.models.delete(parse_name("twin"))
    assert shelf.runners.unloaded == ["Twin:latest"]


async def test_verbose_descriptions_hold_whole_arrays(shelf: Shelf) -> None:
    await shelf.create("a", gguf({**DENSE, "llama.x": (9, (U32, list(range(10_000))))}))
    brief = await shelf.models.show(parse_name("a"), ShowOptions())
    whole = await shelf.models.show(parse_name("a"), ShowOptions(verbose=True))
    assert brief.model_info["llama.x"] is None
    assert whole.model_info["llama.x"] == list(range(10_000))
