"""Completion as shells ask for it; bash itself, where its own idea of words is in the way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from modelfiles.store import Store
from tests.modelfiles.store.packing import pack
from tests.shim.cli.scripted import Answer, ScriptedServer, Shim

REPOSITORY = Path(__file__).resolve().parents[3]
NAMES = ("qwen3:0.6b", "qwen3:30b-a3b", "Llama3:latest", "team/other:v2")


@pytest.fixture
def listed(server: ScriptedServer) -> ScriptedServer:
    server.answers["GET", "/api/tags"] = Answer({"models": [{"name": name} for name in NAMES]})
    return server


def asked(line: str, program: str = "shim") -> list[str]:
    """What the command answers to a shell that asks for completions of this line."""
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.argv[0] = '{program}'; from shim.cli.main import main; main()",
    ]
    variables = {f"_{program.upper()}_COMPLETE": "bash_complete", "COMP_LINE": line}
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_commands_options_and_names(listed: ScriptedServer) -> None:
    assert asked("shim mo") == ["plain,modelfile"]
    assert asked("ollama pu", "ollama") == ["plain,pull", "plain,push"]
    assert asked("shim run qwen3:3") == ["plain,qwen3:30b-a3b"]
    assert asked("shim run l") == ["plain,Llama3:latest"]
    assert asked("shim rm team/other:v2 ") == [f"plain,{name}" for name in NAMES[:3]]
    assert asked("shim show --li") == ["plain,--license"]
    assert asked("shim completion ") == ["plain,bash", "plain,zsh", "plain,fish"]


def test_names_of_the_store_where_no_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(Store(tmp_path), "mine")
    for name in ("SHIM_HOST", "SHIM_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    assert asked("shim run m") == ["plain,mine:latest"]
    monkeypatch.setenv("OLLAMA_HOST", "http://a b")
    assert asked("shim run m") == [""]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "breaks", "replies"),
    [
        ("shim run qwen3:3", ":", ["30b-a3b"]),  # bash replaces what is behind the colon
        ("shim run qwen3:3", "", ["qwen3:30b-a3b"]),
        ("shim run qw", ":", ["qwen3:0.6b", "qwen3:30b-a3b"]),
        ("shim mod", ":", ["modelfile"]),
        ("shim run nothing", ":", []),
    ],
)
def test_bash(
    shim: Shim, listed: ScriptedServer, tmp_path: Path, line: str, breaks: str, replies: list[str]
) -> None:
    command = tmp_path / "shim"
    command.write_text(f"#!{sys.executable}\nfrom shim.cli.main import main\nmain()\n")
    command.chmod(0o755)
    script = shim("completion", "bash").out + (
        f"COMP_LINE={line!r} COMP_POINT={len(line)} COMP_WORDBREAKS=$' \\t\\n{breaks}'\n"
        f"_shim_completion {command}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.split() == replies


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete "), ("zsh", "#compdef "), ("fish", "complete ")]
)
def test_scripts(shim: Shim, shell: str, word: str) -> None:
    result = shim("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert word in result.out
    assert "_SHIM_COMPLETE" in result.out


def test_another_shell(shim: Shim) -> None:
    assert shim("completion", "tcsh").err.startswith("Error: Invalid value for")
