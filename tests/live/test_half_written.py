"""Creates and uploads that are cut short: afterwards the store holds whole files only."""

import contextlib
import hashlib
import json
import socket
import subprocess
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.live.server import COMMAND, ShimServer, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]


def files(store: Path) -> list[Path]:
    """Everything in the store but its own notes, which lie in a folder of their own."""
    return [
        path for path in sorted(store.rglob("*")) if path.is_file() and store / "shim" not in path.parents
    ]


def faults(store: Path) -> list[str]:
    """Files in the store that are neither a whole blob nor a manifest whose blobs are all there."""
    whole = [path for path in files(store) if is_whole_blob(path) or is_whole_manifest(path, store)]
    return [str(path.relative_to(store)) for path in files(store) if path not in whole]


def is_whole_blob(path: Path) -> bool:
    with path.open("rb") as data:
        return path.name == f"sha256-{hashlib.file_digest(data, 'sha256').hexdigest()}"


def is_whole_manifest(path: Path, store: Path) -> bool:
    if "manifests" not in path.relative_to(store).parts:
        return False
    with contextlib.suppress(ValueError, KeyError):
        manifest = json.loads(path.read_bytes())
        layers = [manifest["config"], *manifest["layers"]]
        return all((store / "blobs" / layer["digest"].replace(":", "-")).exists() for layer in layers)
    return False


def send_half(server: ShimServer, gguf: Path) -> socket.socket:
    """Begins an upload and sends half of the file; the connection is left open."""
    data = gguf.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    connection = socket.create_connection(("127.0.0.1", server.port))
    lines = [
        f"POST /api/blobs/sha256:{digest} HTTP/1.1",
        f"Host: {server.host}",
        f"Content-Length: {len(data)}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + data[: len(data) // 2])
    return connection


def wait_until_whole(server: ShimServer) -> None:
    try:
        wait_until(lambda: faults(server.store) == [], 10, "only whole files are in the store")
    except AssertionError as late:
        raise AssertionError(f"{late}: {faults(server.store)}; its log:\n{server.log}") from None


def has_files(store: Path) -> bool:
    return files(store) != []


def test_a_broken_upload_leaves_nothing(start_server: StartServer, tiny_qwen3moe_gguf: Path) -> None:
    server = start_server()
    with send_half(server, tiny_qwen3moe_gguf):
        wait_until(lambda: has_files(server.store), 10, "the upload has begun")
    wait_until_whole(server)


def test_an_upload_that_lies_leaves_a_whole_file(start_server: StartServer, tiny_qwen3moe_gguf: Path) -> None:
    """As in Ollama, what was sent stays under its true digest."""
    server = start_server()
    status, _ = server.call_bytes("POST", "/api/blobs/sha256:" + "0" * 64, tiny_qwen3moe_gguf.read_bytes())
    assert status == 400
    assert len(files(server.store)) == 1
    assert faults(server.store) == []


def test_a_server_killed_in_an_upload_leaves_nothing(
    start_server: StartServer, tiny_qwen3moe_gguf: Path
) -> None:
    server = start_server()
    with send_half(server, tiny_qwen3moe_gguf):
        wait_until(lambda: has_files(server.store), 10, "the upload has begun")
        server.process.kill()
        server.process.wait()
    server.start()
    assert faults(server.store) == []
    server.create("tiny", tiny_qwen3moe_gguf)
    assert faults(server.store) == []


@pytest.mark.parametrize("victim", ["server", "client", "both"])
def test_killed_in_a_create(start_server: StartServer, moe_copies_gguf: Path, victim: str) -> None:
    """Whenever it hits: what is in the store afterwards is whole, and the create can be repeated."""
    server = start_server()
    (server.home / "Modelfile").write_text(f"FROM {moe_copies_gguf}\nSYSTEM Be brief.\n")
    creating = subprocess.Popen(
        [*COMMAND, "create", "half", "-f", "Modelfile"], env=server.environment(), cwd=server.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: has_files(server.store) or creating.poll() is not None, 30, "the create has begun")
    if victim != "client":
        server.process.kill()
        server.process.wait()
    if victim != "server":
        creating.kill()
    creating.wait()
    if victim != "client":
        server.start()
    server.create("half", moe_copies_gguf, "SYSTEM Be brief.")
    wait_until_whole(server)
    assert "half" in server.cli("list").stdout


def test_a_refused_create_leaves_nothing(
    start_server: StartServer, tiny_qwen3moe_gguf: Path, tmp_path: Path
) -> None:
    """A file that ends too early is refused before anything of it is stored."""
    server = start_server()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_qwen3moe_gguf.read_bytes()[:-1000])
    (server.home / "Modelfile").write_text(f"FROM {cut}\n")
    refused = server.cli("create", "cut", "-f", str(server.home / "Modelfile"), check=False)
    assert refused.returncode != 0
    assert "Error" in refused.stderr
    assert not has_files(server.store)
