"""The command under the name `ollama`: its texts, and a link of that name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim.cli.main import COMMANDS, run
from shim.cli.program import program_name, renamed
from shim.versions import API_VERSION
from tests.shim.cli.scripted import Answer, ScriptedServer

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/ollama", "ollama"),
        ("ollama.exe", "ollama"),
        (r"C:\bin\Ollama.exe", "ollama"),
        ("/x/ollama/shim", "shim"),
        ("shim", "shim"),
        ("/x/main.py", "shim"),
        ("", "shim"),
    ],
)
def test_the_name_is_that_of_the_file(path: str, name: str) -> None:
    assert program_name(path) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run 'shim serve' to start it", "run 'ollama serve' to start it"),
        (
            "shim ls; moe-shim run; /a/shim run; a shim of wood",
            "shim ls; moe-shim run; /a/shim run; a shim of wood",
        ),
        ("'shim --help' shows", "'ollama --help' shows"),
        ("shim runs", "shim runs"),
    ],
)
def test_only_calls_of_the_command_are_renamed(text: str, expected: str) -> None:
    assert renamed(text, "ollama", COMMANDS) == expected
    assert renamed(text, "shim", COMMANDS) == text


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_speaks_of_ollama(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments, "ollama") == 0
    said = capsys.readouterr().out
    assert "ollama" in said
    assert "  shim " not in said
    assert run(arguments) == 0
    assert "  ollama " not in capsys.readouterr().out


def test_errors_speak_of_ollama(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("SHIM_HOST", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    assert run(["list"], "ollama") == 1
    error = capsys.readouterr().err
    assert error == "Error: could not connect to ollama server, run 'ollama serve' to start it\n"
    assert run(["rm"], "ollama") == 1
    assert "'ollama rm --help' shows" in capsys.readouterr().err


def test_version_in_the_words_of_ollama(server: ScriptedServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answers["GET", "/api/version"] = Answer({"version": API_VERSION})
    assert run(["--version"], "ollama") == 0
    assert capsys.readouterr().out == f"ollama version is {API_VERSION}\n"
    server.answers["GET", "/api/version"] = Answer({"version": "0.1.2"})
    assert run(["-v"], "ollama") == 0
    assert capsys.readouterr().out == f"ollama version is 0.1.2\nWarning: client version is {API_VERSION}\n"


def test_version_in_the_words_of_ollama_without_a_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHIM_HOST", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    assert run(["--version"], "ollama") == 0
    assert capsys.readouterr().out == (
        f"Warning: could not connect to a running Ollama instance\nWarning: client version is {API_VERSION}\n"
    )


def test_a_link_of_that_name(server: ScriptedServer, tmp_path: Path) -> None:
    script = tmp_path / "shim"
    script.write_text(f"#!{sys.executable}\nfrom shim.cli.main import main\nmain()\n")
    script.chmod(0o755)
    link = tmp_path / "ollama"
    link.symlink_to(script)
    server.answers["GET", "/api/version"] = Answer({"version": API_VERSION})
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([link, "--version"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"ollama version is {API_VERSION}\n", "")
