"""Servers that all clients share: one with real weights, and one whose answers a prompt can dictate."""

import gc
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.server import REPOSITORY, ShimServer
from tests.shim.serving import CAPABLE

# Nothing is fetched behind our backs.
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "HF_HUB_OFFLINE": "1",
           "LANGSMITH_TRACING": "false", "NO_PROXY": "*"}  # fmt: skip
NPM_CLIENT = "ollama@0.6.4"


@pytest.fixture(scope="session", autouse=True)
def offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in OFFLINE.items():
            patch.setenv(name, value)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Other people's libraries leave sockets to the collector, which may find them in any later test."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a client left behind is not found in the tests of others."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def real(servers_folder: Path, dense_gguf: Path) -> Iterator[ShimServer]:
    """Answers with real weights: the model `dense`."""
    server = ShimServer(servers_folder / "clients-real")
    server.start()
    try:
        server.create("dense", dense_gguf)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def scripted(servers_folder: Path) -> Iterator[ShimServer]:
    """Says what a prompt dictates (`runtime.fake_script`), one request at a time: the model `capable`."""
    settings = {"SHIM_ENGINE": "fake", "OLLAMA_NUM_PARALLEL": "1", "OLLAMA_CONTEXT_LENGTH": "8192"}
    server = ShimServer(servers_folder / "clients-scripted", settings)
    server.start()
    try:
        weights = server.home / "capable.gguf"
        weights.write_bytes(CAPABLE)
        server.create("capable", weights, "PARAMETER stop <|im_end|>")
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def node() -> Path:
    """The machine's Node, or the one that comes as a Python package; without any the test is skipped."""
    places = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    found = {name: shutil.which(name, path=places) for name in ("node", "npm")}
    if not all(found.values()):
        pytest.skip("no Node here")
    return Path(str(found["node"]))


@pytest.fixture(scope="session")
def node_modules(node: Path) -> Path:
    """A folder with the npm client in it."""
    folder = REPOSITORY / ".cache" / "npm" / NPM_CLIENT.replace("@", "-")
    if not (folder / "node_modules" / "ollama" / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", NPM_CLIENT]
        path = os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
        subprocess.run(command, cwd=folder, check=True, timeout=200, env={**os.environ, "PATH": path})
    return folder
