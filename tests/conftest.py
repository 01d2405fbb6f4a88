"""Fixtures that many tests share: the models, built once and kept, and real servers."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import models
from tests.live.server import ShimServer

# The gate must not depend on luck: there, the same examples every time. Elsewhere new ones are looked for.
settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("gate")

StartServer = Callable[..., ShimServer]


@pytest.fixture(scope="session")
def dense_gguf() -> Path:
    return models.dense()


@pytest.fixture(scope="session")
def moe_copies_gguf() -> Path:
    return models.moe_copies()


@pytest.fixture(scope="session")
def moe_split_gguf() -> Path:
    return models.moe_split()


@pytest.fixture(scope="session")
def tiny_qwen3moe_gguf() -> Path:
    return models.tiny_qwen3moe()


@pytest.fixture(scope="session")
def tiny_qwen35moe_gguf() -> Path:
    return models.tiny_qwen35moe()


@pytest.fixture(scope="session")
def thinker_gguf() -> Path:
    return models.thinker()


@pytest.fixture(scope="session")
def servers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers of a run have their homes; what they may share lies beside these."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture
def start_server(servers_folder: Path, request: pytest.FixtureRequest) -> Iterator[StartServer]:
    """Starts servers with the settings given as keywords; all of them are stopped when the test ends."""
    started: list[ShimServer] = []

    def start(**settings: str) -> ShimServer:
        server = ShimServer(servers_folder / f"{request.node.name[:40]}-{len(started)}", settings)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def server(
    servers_folder: Path, request: pytest.FixtureRequest, dense_gguf: Path, moe_copies_gguf: Path
) -> Iterator[ShimServer]:
    """A server that the tests of a module share, with the models `dense` and `moe`."""
    running = ShimServer(servers_folder / request.module.__name__.replace(".", "-"))
    running.start()
    try:
        running.create("dense", dense_gguf)
        running.create("moe", moe_copies_gguf)
        yield running
    finally:
        running.stop()
