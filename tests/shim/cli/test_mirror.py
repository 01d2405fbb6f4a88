"""The list of mirrors on the command line."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mirrors.registries import CONFIG_DATA, Registry, registry
from tests.shim.cli.scripted import Shim


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("SHIM_MIRRORS", "SHIM_REGISTRIES", "OLLAMA_REGISTRIES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def remote() -> Iterator[Registry]:
    """A registry that runs on a thread of its own, since the command has an event loop of its own."""
    ready, stop, made = threading.Event(), asyncio.Event(), list[Registry]()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        async with registry() as running:
            running.add("library/all-minilm:22m", CONFIG_DATA, ("model", b"GGUF" + bytes(100_000)))
            made.append(running)
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(10)
    yield made[0]
    loops[0].call_soon_threadsafe(stop.set)
    thread.join(10)


def test_added_listed_and_removed(shim: Shim) -> None:
    assert shim("mirror", "add", "https://a.example/v2/").code == 0
    assert shim("mirror", "add", "http://b.example", "--for", "hf.co").code == 0
    listed = shim("mirror", "list").out.splitlines()
    assert [line.split() for line in listed[1:]] == [
        ["registry.ollama.ai", "https://a.example", "yes"],
        ["huggingface.co", "http://b.example", "files", "only"],
    ]
    removed = shim("mirror", "remove", "https://a.example")
    assert (removed.code, removed.err) == (0, "removed for registry.ollama.ai\n")
    assert "a.example" not in shim("mirror", "list").out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("add", "a.example"), "Error: 'a.example' is no address"),
        (("add", "https://me:secret@a.example"), "Error: a password in an address"),
        (("add", "https://a.example", "--auth", "secret"), "env:NAME or file:PATH"),
        (("remove", "https://a.example"), "Error: https://a.example is not in"),
        (("test",), "Error: no mirror is set"),
        (("test", "nonsense"), "Error: 'nonsense' is no address"),
    ],
)
def test_what_cannot_be_done_is_said(shim: Shim, arguments: tuple[str, ...], error: str) -> None:
    result = shim("mirror", *arguments)
    assert (result.code, result.out) == (1, "")
    assert error in result.err
    assert "me:secret" not in result.err


def test_a_variable_wins_and_says_so(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_REGISTRIES", "https://c.example")
    assert "OLLAMA_REGISTRIES is set" in shim("mirror", "add", "https://a.example").err
    assert "https://a.example" not in shim("mirror", "list").out


def test_faults_of_the_list_are_shown(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIM_MIRRORS", '["https://a.example",]')
    result = shim("mirror", "list")
    assert "warning: SHIM_MIRRORS, line 1, column 22" in result.err


def test_known_ones_are_shown_with_their_date(shim: Shim) -> None:
    from mirrors.listed import CHECKED_ON

    assert CHECKED_ON in shim("mirror", "list", "--known").out


def test_what_a_mirror_is_worth(shim: Shim, remote: Registry) -> None:
    result = shim("mirror", "test", remote.url)
    head, line = result.out.splitlines()
    assert result.code == 0
    assert head.split() == ["FOR", "ADDRESS", "ANSWERS", "IN", "RANGES", "SPEED", "STATE"]
    assert line.split()[:2] == ["registry.ollama.ai", remote.url]
    assert "yes" in line.split()
    assert line.endswith("ok")


def test_a_mirror_that_is_of_no_use(shim: Shim, remote: Registry) -> None:
    remote.manifests.clear()
    result = shim("mirror", "test", remote.url)
    assert result.code == 1
    assert "file does not exist" in result.out
    gone = shim("mirror", "test", "http://127.0.0.1:1")
    assert gone.code == 1
    assert "cannot be reached" in gone.out
