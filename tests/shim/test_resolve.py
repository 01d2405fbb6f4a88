"""From names to models, and what is kept between requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from modelfiles.errors import BadGGUF, TemplateError
from modelfiles.store import Store
from shim.bridge import Threads
from shim.errors import bad_request
from shim.headers import Headers
from shim.resolve import Resolver
from tests.modelfiles.gguf.building import DENSE, STRING, gguf
from tests.modelfiles.store.packing import blob, pack

EMPTY = bad_request("empty")
TEMPLATE = "tokenizer.chat_template"


class Fixture:
    """A store, and a resolver over it."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "models")
        self.threads = Threads()
        self.resolver = Resolver(self.store, Headers(), self.threads)

    def add(self, name: str, **templates: str) -> None:
        keys = dict(DENSE)
        for key, source in templates.items():
            keys[TEMPLATE + ("." + key if key != "default" else "")] = (STRING, source)
        pack(self.store, name, blob(self.store, "model", gguf(keys)))


@pytest.fixture
async def fixture(tmp_path: Path) -> AsyncIterator[Fixture]:
    found = Fixture(tmp_path)
    yield found
    found.threads.close()


async def test_a_model_and_its_parts(fixture: Fixture) -> None:
    fixture.add("m", default="{{ messages[0].content }}")
    target = await fixture.resolver.find("M", if_empty=EMPTY)
    assert target.requested == "M"
    assert target.package.name.display == "m:latest"
    assert "completion" in target.capabilities
    assert target.spec is not None
    assert (target.spec.name, target.spec.architecture) == ("m:latest", "llama")
    assert target.spec.key == target.spec.path == str(target.package.model_path)
    assert target.spec.payload is target.package
    assert target.spec.shape.n_layer == 1


async def test_two_names_of_the_same_weights_share_their_key_and_template(fixture: Fixture) -> None:
    for name in ("a", "b"):
        fixture.add(name, default="{{ messages[0].content }}")
    first, second = [await fixture.resolver.find(name, if_empty=EMPTY) for name in ("a", "b")]
    assert first.spec is not None
    assert second.spec is not None
    assert first.spec.key == second.spec.key
    assert first.templates is second.templates


async def test_templates_for_tools(fixture: Fixture) -> None:
    fixture.add("both", default="plain{{ messages[0].content }}", tool_use="tools{{ messages[0].content }}")
    fixture.add("one", default="plain{{ messages[0].content }}")
    fixture.add("none")
    chosen = {}
    for name in ("both", "one", "none"):
        templates = (await fixture.resolver.find(name, if_empty=EMPTY)).templates
        chosen[name] = [
            template.source[:5] if (template := templates.choose(tools=tools)) else None
            for tools in (False, True)
        ]
    assert chosen == {"both": ["plain", "tools"], "one": ["plain", "plain"], "none": [None, None]}


async def test_a_broken_template_is_an_error_only_where_it_is_used(fixture: Fixture) -> None:
    fixture.add("m", default="{% if %}")
    target = await fixture.resolver.find("m", if_empty=EMPTY)
    with pytest.raises(TemplateError, match="line 1"):
        target.templates.choose(tools=False)


async def test_damaged_weights(fixture: Fixture) -> None:
    pack(fixture.store, "m", blob(fixture.store, "model", b"GGUF\x03\x00\x00\x00"))
    with pytest.raises(BadGGUF):
        await fixture.resolver.find("m", if_empty=EMPTY)


async def test_weights_in_another_format(fixture: Fixture) -> None:
    pack(fixture.store, "m", blob(fixture.store, "system", b"x"))
    assert (await fixture.resolver.find("m", if_empty=EMPTY)).spec is None
