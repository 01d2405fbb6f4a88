"""The life of a model by the command line alone, against the real server with an engine without weights."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.live.server import ShimServer
from tests.modelfiles.gguf.building import MIXTURE, STRING, gguf
from tests.shim.serving import CHATTING

pytestmark = pytest.mark.slow

WEIGHTS = gguf({**MIXTURE, **CHATTING, "general.name": (STRING, "small")})
MODELFILE = """\
FROM ./m.gguf
PARAMETER num_experts 32
PARAMETER num_experts_used 4
PARAMETER ctx_size 2048
PARAMETER tool_call_parser true
SYSTEM 回答要简短。
"""


@pytest.fixture
def running(start_server: StartServer) -> ShimServer:
    server = start_server(SHIM_ENGINE="fake")
    (server.home / "m.gguf").write_bytes(WEIGHTS)
    (server.home / "Modelfile").write_text(MODELFILE, "utf-8")
    return server


def blobs(server: ShimServer) -> list[Path]:
    return sorted((server.store / "blobs").iterdir())


def columns(line: str) -> list[str]:
    return re.split(" {4,}", line)


def test_a_model_lives_and_goes(running: ShimServer) -> None:
    created = running.cli("create", "mymoe")
    assert "warning: num_experts is 32, but the model has 8 experts; it is not stored" in created.stderr
    assert created.stderr.endswith("success\n")
    header, row = running.cli("list").stdout.splitlines()
    assert columns(header) == ["NAME", "ID", "SIZE", "MODIFIED"]
    assert columns(row)[0] == "mymoe:latest"
    shown = running.cli("show", "mymoe").stdout
    assert "experts             8, 4 used (2 by default)\n" in shown
    assert "num_ctx             2048\n" in shown
    assert "回答要简短。" in shown

    said = running.cli("run", "mymoe", "[[fake:say]]你好，世界[[fake:end]]", stdin="ignored")
    assert said.stdout == "你好，世界\n\n"
    assert columns(running.cli("ps").stdout.splitlines()[1])[-3:] == [
        "100% CPU",
        "2048",
        "4 minutes from now",
    ]
    running.cli("stop", "mymoe")
    assert running.cli("ps").stdout.splitlines() == ["NAME    ID    SIZE    PROCESSOR    CONTEXT    UNTIL"]

    assert running.cli("cp", "mymoe", "team/other:v2").stdout == "copied 'mymoe' to 'team/other:v2'\n"
    assert running.cli("rm", "MYMOE", "team/other:v2").stdout == "deleted 'MYMOE'\ndeleted 'team/other:v2'\n"
    assert running.cli("list").stdout == "NAME    ID    SIZE    MODIFIED\n"
    assert blobs(running) == []


def test_a_file_of_the_same_disk_is_not_copied(running: ShimServer) -> None:
    running.cli("create", "mymoe")
    weights = max(blobs(running), key=lambda blob: blob.stat().st_size)
    source = (running.home / "m.gguf").stat()
    assert weights.read_bytes() == WEIGHTS
    assert weights.stat().st_ino == source.st_ino or weights.stat().st_nlink == 1  # a name more, or a clone
    running.cli("rm", "mymoe")
    assert (running.home / "m.gguf").read_bytes() == WEIGHTS


def test_the_shown_modelfile_makes_the_same_model(running: ShimServer) -> None:
    running.cli("create", "first")
    modelfile = running.cli("show", "first", "--modelfile").stdout
    running.cli("create", "second", "-f", "-", stdin=modelfile)
    rows = [columns(line) for line in running.cli("list").stdout.splitlines()[1:]]
    assert len({digest for _, digest, *_ in rows}) == 1
    assert {name for name, *_ in rows} == {"first:latest", "second:latest"}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("PARAMETER num_experts_used 9", "num_experts_used 9 cannot be used"),
        ("PARAMETER num_ctx 4k", "invalid int value [4k]"),
        ("PROMPT hi", "(line 2): command must be one of"),
    ],
)
def test_what_cannot_be_is_refused(running: ShimServer, line: str, error: str) -> None:
    refused = running.cli("create", "bad", "-f", "-", stdin=f"FROM m.gguf\n{line}\n", check=False)
    assert refused.returncode == 1
    assert f"Error: {error}" in refused.stderr
    assert running.cli("list").stdout == "NAME    ID    SIZE    MODIFIED\n"


def test_errors_of_a_reply(running: ShimServer) -> None:
    running.cli("create", "mymoe")
    died = running.cli("run", "mymoe", "[[fake:die=SIGKILL@3]]", check=False)
    assert died.returncode == 1
    assert died.stdout
    assert "SIGKILL" in died.stderr
    missing = running.cli("run", "nobody", "hi", check=False)
    assert missing.returncode == 1
    assert "cannot be reached" in missing.stderr


def test_a_cold_list_is_quick(running: ShimServer) -> None:
    """The bound is 0.3 s on a quiet machine; the best of several tries is what the command itself takes."""
    running.cli("create", "mymoe")
    command = [sys.executable, "-m", "shim.cli.main", "list"]
    environment = {**running.environment(), "PATH": os.environ["PATH"]}
    best = 10.0
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        best = min(best, time.perf_counter() - started)
    assert best <= 0.3
