"""`shim pull`, `shim push` and `shim help`."""

import pytest

from modelfiles.names import parse_name
from shim.cli.push import page_of
from tests.shim.cli.scripted import Answer, ScriptedServer, Shim

STEPS = [{"status": "pulling manifest"}, {"status": "success"}]


@pytest.mark.parametrize("command", ["pull", "push"])
def test_the_server_is_asked_and_its_steps_shown(shim: Shim, server: ScriptedServer, command: str) -> None:
    server.answers["POST", f"/api/{command}"] = Answer(STEPS)
    result = shim(command, "host.example/team/m", "--insecure")
    assert (result.code, result.out, result.err) == (0, "", "pulling manifest\nsuccess\n")
    assert server.bodies(f"/api/{command}") == [{"model": "host.example/team/m", "insecure": True}]


@pytest.mark.parametrize("command", ["pull", "push"])
def test_the_servers_error_is_shown(shim: Shim, server: ScriptedServer, command: str) -> None:
    server.answers["POST", f"/api/{command}"] = Answer([{"status": "x"}, {"error": "no such registry"}])
    result = shim(command, "m")
    assert (result.code, result.out, result.err) == (1, "", "x\nError: no such registry\n")


def test_push_tells_where_the_model_is(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/push"] = Answer(STEPS)
    assert shim("push", "me/m").out == "\nYou can find your model at:\n\n\thttps://ollama.com/me/m\n\n"
    assert shim("push", "a b").err == "Error: invalid model name: a b\n"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("me/m:7b", "https://ollama.com/me/m:7b"),
        ("me/m:latest", "https://ollama.com/me/m"),
        ("h.example/me/m", ""),
    ],
)
def test_pages(name: str, page: str) -> None:
    assert page_of(parse_name(name)) == page


def test_help(shim: Shim) -> None:
    assert shim("help").out == shim("--help").out
    assert shim("help", "run").out == shim("run", "--help").out
    assert shim("help", "ls").out.startswith("Usage: shim list")
    assert shim("help", "fly").err == "Error: No such command 'fly'.\nhint: 'shim help' lists the commands\n"
