"""How commands begin and end: help, versions, errors, exit codes, and what starting one costs."""

import os
import subprocess
import sys

import pytest

from shim.cli.main import COMMANDS
from shim.versions import API_VERSION
from tests.shim.cli.scripted import Answer, ScriptedServer, Shim


def test_without_a_command_the_help_is_shown(shim: Shim) -> None:
    result = shim()
    assert result.code == 0
    for name in COMMANDS:
        assert f"  {name} " in result.out
    assert "Examples:" in result.out


@pytest.mark.parametrize("name", [*COMMANDS, "ls"])
def test_every_command_explains_itself(shim: Shim, name: str) -> None:
    result = shim(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert "Example" in result.out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("fly",), "Error: No such command 'fly'."),
        (("rm",), "Error: Missing argument 'MODEL...'."),
        (("list", "--wrong"), "Error: No such option"),
        (("cp", "a"), "Error: Missing argument 'DESTINATION'."),
    ],
)
def test_wrong_use_names_the_fault_and_the_help(shim: Shim, arguments: tuple[str, ...], error: str) -> None:
    result = shim(*arguments)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(error)
    assert "--help" in result.err


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("ps",), ("show", "m"), ("run", "m", "hi"), ("stop", "m"), ("cp", "a", "b"), ("rm", "m")],
)
def test_a_refused_connection_says_what_to_do(
    shim: Shim, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    result = shim(*arguments)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Error: could not connect to a server at http://127.0.0.1:1 (")
    assert "run 'shim serve' to start it" in result.err


def test_shim_host_goes_before_ollama_host(
    shim: Shim, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("SHIM_HOST", f"http://127.0.0.1:{server.port}/prefix/")
    server.answers["HEAD", "/prefix/"] = Answer()
    server.answers["GET", "/prefix/api/tags"] = Answer({"models": []})
    assert shim("list").code == 0


def test_an_address_that_cannot_be_is_an_error(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIM_HOST", "http://a b")
    result = shim("list")
    assert result.code == 1
    assert result.err.startswith("Error: 'http://a b'")


def test_version(shim: Shim, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.cli.version.own_version", lambda: "1.2.3")
    server.answers["GET", "/api/version"] = Answer({"version": API_VERSION})
    result = shim("--version")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "shim version is 1.2.3\n"
        f"server at http://127.0.0.1:{server.port} speaks the API of version {API_VERSION}\n"
    )  # fmt: skip


def test_version_of_another_server(shim: Shim, server: ScriptedServer) -> None:
    server.answers["GET", "/api/version"] = Answer({"version": "0.1.2"})
    result = shim("--version")
    assert result.out.endswith("speaks the API of version 0.1.2\n")
    assert result.err == f"Warning: client version is {API_VERSION}\n"


def test_version_without_a_server(
    shim: Shim, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shim.cli.version.own_version", lambda: "1.2.3")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    result = shim("-v")
    assert (result.code, result.out) == (0, "shim version is 1.2.3\n")
    assert result.err.startswith("Warning: could not connect to a server at http://127.0.0.1:1 ")


def test_answers_that_are_no_json_are_errors(shim: Shim, server: ScriptedServer) -> None:
    server.answers["GET", "/api/tags"] = Answer("<html>")
    assert shim("list").err.startswith("Error: the server's answer is no JSON: b'<html>'")
    server.answers["GET", "/api/tags"] = Answer("nothing here", 502)
    assert shim("list").err == "Error: nothing here\n"


def test_a_cold_list_imports_little(server: ScriptedServer) -> None:
    server.answers["GET", "/api/tags"] = Answer({"models": []})
    script = (
        "import sys; from shim.cli.main import run; code = run(['list']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for heavy in ("rich", "aiohttp", "asyncio", "msgspec", "numpy", "jinja2", "cffi", "hypothesis"):
        assert f"'{heavy}'" not in done.stderr


def test_a_reader_that_has_gone_is_no_crash(server: ScriptedServer) -> None:
    server.answers["GET", "/api/tags"] = Answer({"models": []})
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "shim.cli.main", "list"]
    with os.fdopen(write_end, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")


def test_characters_that_the_terminal_lacks_are_replaced(server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"system": "你好 ok"})
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "shim.cli.main", "show", "m", "--system"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"?? ok")
