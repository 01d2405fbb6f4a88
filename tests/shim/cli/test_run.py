"""`shim run`: one prompt, what is piped in, embeddings, and a chat held line by line."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shim.addresses import Address
from shim.cli.chat import Chat
from shim.cli.client import Client
from shim.cli.interactive import LEAVE_HINT, hold_chat
from tests.shim.cli.scripted import Answer, Received, ScriptedServer, Shim

DONE = {"model": "m", "response": "", "done": True, "done_reason": "stop", "total_duration": 1_500_000_000,
        "eval_count": 3, "eval_duration": 1_000_000_000}  # fmt: skip


@pytest.fixture
def model(server: ScriptedServer) -> ScriptedServer:
    """A server with a plain model that answers "Hello, 世界"."""
    server.answers["POST", "/api/show"] = Answer({"capabilities": ["completion"]})
    items = [{"response": "Hello, ", "done": False}, {"response": "世界", "done": False}, DONE]
    server.answers["POST", "/api/generate"] = Answer(items)
    return server


def sent(server: ScriptedServer, path: str = "/api/generate") -> Any:
    return server.bodies(path)[-1]


def test_a_prompt(shim: Shim, model: ScriptedServer) -> None:
    result = shim("run", "m", "Say", "hello")
    assert (result.code, result.out, result.err) == (0, "Hello, 世界\n\n", "")
    assert sent(model) == {"model": "m", "prompt": "Say hello"}
    assert model.received[-1].headers["Accept"] == "application/x-ndjson"
    assert model.calls == [("HEAD", "/"), ("POST", "/api/show"), ("POST", "/api/generate")]


def test_what_is_piped_in_comes_before_the_prompt(shim: Shim, model: ScriptedServer) -> None:
    shim("run", "m", "Sum it up.", stdin="天气\n很好\n".encode())
    assert sent(model)["prompt"] == "天气\n很好\n Sum it up."
    shim("run", "m", stdin=b"only \xff this")
    assert sent(model)["prompt"] == "only \ufffd this"


def test_an_empty_prompt_only_loads(shim: Shim, model: ScriptedServer) -> None:
    model.answers["POST", "/api/generate"] = Answer({"done": True, "done_reason": "load"})
    result = shim("run", "m")
    assert (result.code, result.out) == (0, "")
    assert sent(model) == {"model": "m", "prompt": "", "stream": False}


def test_options(shim: Shim, model: ScriptedServer) -> None:
    shim("run", "--think", "m", "hi", "--keepalive", "5m", "--format", "json", "--nowordwrap")
    assert sent(model) == {"model": "m", "prompt": "hi", "think": True, "keep_alive": "5m", "format": "json"}
    shim("run", "m", "hi", "--think=high", "--keepalive", "-1", "--format", '{"type": "object"}')
    assert sent(model)["think"] == "high"
    assert sent(model)["keep_alive"] == -1
    assert sent(model)["format"] == {"type": "object"}
    shim("run", "m", "hi", "--think", "--verbose=false", "--hidethinking=true", "--nowordwrap=false")
    assert sent(model) == {"model": "m", "prompt": "hi", "think": True}
    shim("run", "m", "--", "--think", "is an option")
    assert sent(model)["prompt"] == "--think is an option"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("--think=loud",),
            'invalid think value: "loud" (must be "high", "medium", "low", "max", true, or false)',
        ),
        (("--format", "{oops"), "--format is no JSON schema: "),
    ],
)
def test_wrong_options(shim: Shim, model: ScriptedServer, arguments: tuple[str, ...], error: str) -> None:
    result = shim("run", "m", "hi", *arguments)
    assert result.code == 1
    assert result.err.startswith(f"Error: {error}")
    assert model.received == []


def test_a_model_that_can_think_is_asked_to(shim: Shim, model: ScriptedServer) -> None:
    model.answers["POST", "/api/show"] = Answer({"capabilities": ["completion", "thinking"]})
    model.answers["POST", "/api/generate"] = Answer(
        [{"response": "", "thinking": "Hm."}, {"response": "4"}, DONE]
    )
    result = shim("run", "m", "2+2?")
    assert sent(model)["think"] is True
    assert result.out == "Thinking...\nHm.\n...done thinking.\n\n4\n\n"
    assert shim("run", "m", "2+2?", "--hidethinking").out == "4\n\n"
    shim("run", "m", "2+2?", "--think=false")
    assert sent(model)["think"] is False


def test_verbose(shim: Shim, model: ScriptedServer) -> None:
    result = shim("run", "m", "hi", "--verbose")
    assert result.err == (
        "total duration:       1.5s\n"
        "eval count:           3 token(s)\n"
        "eval duration:        1s\n"
        "eval rate:            3.00 tokens/s\n"
    )


def test_a_missing_model(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"error": "model 'm:latest' not found"}, 404)
    result = shim("run", "m", "hi")
    assert result.code == 1
    assert result.err.splitlines()[0] == "Error: model 'm:latest' not found"
    assert "shim list" in result.err


def test_a_missing_model_is_fetched(shim: Shim, model: ScriptedServer) -> None:
    found = model.answers["POST", "/api/show"]

    def show(request: Received) -> Answer:
        assert isinstance(found, Answer)
        pulled = ("POST", "/api/pull") in model.calls
        return found if pulled else Answer({"error": "model 'm:latest' not found"}, 404)

    model.answers["POST", "/api/show"] = show
    model.answers["POST", "/api/pull"] = Answer([{"status": "pulling manifest"}, {"status": "success"}])
    result = shim("run", "m", "hi", "--insecure")
    assert (result.code, result.out) == (0, "Hello, 世界\n\n")
    assert model.bodies("/api/pull") == [{"model": "m", "insecure": True}]


def test_a_model_that_cannot_be_fetched(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"error": "model 'm:latest' not found"}, 404)
    server.answers["POST", "/api/pull"] = Answer([{"error": "pull model manifest: file does not exist"}])
    assert shim("run", "m", "hi").err == "Error: pull model manifest: file does not exist\n"


def test_images_in_a_prompt(shim: Shim, model: ScriptedServer, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    refused = shim("run", "m", f"what is {picture}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"Error: m cannot see images, and the message names one: {picture}\n")
    assert ("POST", "/api/generate") not in model.calls
    model.answers["POST", "/api/show"] = Answer({"capabilities": ["completion", "vision"]})
    assert shim("run", "m", f"what is {picture}").err == f"Added image '{picture}'\n"
    assert sent(model) == {"model": "m", "prompt": "what is", "images": ["iVBORw0KGgo="]}


def test_an_error_in_the_stream_keeps_what_was_written(shim: Shim, model: ScriptedServer) -> None:
    model.answers["POST", "/api/generate"] = Answer([{"response": "Hel"}, {"error": "the engine died"}])
    result = shim("run", "m", "hi")
    assert (result.code, result.out, result.err) == (1, "Hel", "Error: the engine died\n")


@pytest.mark.parametrize("cut", [True, False])
def test_a_stream_without_an_end_is_an_error(shim: Shim, model: ScriptedServer, cut: bool) -> None:
    model.answers["POST", "/api/generate"] = Answer([{"response": "Hel"}], cut=cut)
    result = shim("run", "m", "hi")
    assert result.code == 1
    assert result.err.startswith("Error: the server closed the connection before the answer was complete (")


def test_embedding_models_print_their_vector(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"capabilities": ["embedding"]})
    server.answers["POST", "/api/embed"] = Answer({"embeddings": [[0.5, -1]]})
    assert shim("run", "m", "hi", "--dimensions", "2", "--truncate").out == "[0.5, -1]\n"
    assert sent(server, "/api/embed") == {"model": "m", "input": "hi", "truncate": True, "dimensions": 2}
    shim("run", "m", "hi", "--truncate=false")
    assert sent(server, "/api/embed")["truncate"] is False
    assert shim("run", "m").err.startswith("Error: embedding models require input text\n")


# The interactive chat


def conversation(*lines: str | type[BaseException]) -> Callable[[str], str]:
    """Says the lines one after the other, then ends the input; an exception is raised instead of a line."""
    rest = iter(lines)

    def read_line(prompt: str) -> str:
        line = next(rest, EOFError)
        if isinstance(line, str):
            return line
        raise line

    return read_line


@pytest.fixture
def client(server: ScriptedServer) -> Client:
    return Client(Address(port=server.port))


def echo_of(request: Received) -> Answer:
    said = request.body["messages"][-1]["content"]
    items: list[dict[str, object]] = [
        {"message": {"role": "assistant", "content": "", "thinking": "hm"}},
        {"message": {"role": "assistant", "content": f"<{said}>"}},
        {"message": {"role": "assistant", "content": ""}, "done": True, "eval_count": 2},
    ]
    return Answer(items)


def test_a_chat_remembers(client: Client, server: ScriptedServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answers["POST", "/api/chat"] = echo_of
    lines = ("one", "", '"""two', 'lines"""', "/set verbose", "/set parameter seed 1", "three")
    hold_chat(client, Chat("m", hide_thinking=True), conversation(*lines), lambda: None)
    assert [len(body["messages"]) for body in server.bodies("/api/chat")] == [1, 3, 5]
    assert server.bodies("/api/chat")[1]["messages"] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "<one>", "thinking": "hm"},
        {"role": "user", "content": "two\nlines"},
    ]
    assert "stream" not in server.bodies("/api/chat")[0]
    assert server.bodies("/api/chat")[2]["options"] == {"seed": 1}
    captured = capsys.readouterr()
    assert captured.out == (
        "<one>\n\n<two\nlines>\n\nSet 'verbose' mode.\nSet parameter 'seed' to '1'\n<three>\n\n\n"
    )
    assert captured.err == "eval count:           2 token(s)\n"


def test_an_error_ends_the_turn_and_not_the_chat(
    client: Client, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers["POST", "/api/chat"] = Answer({"error": "out of memory"}, 500)
    chat = Chat("m")
    hold_chat(client, chat, conversation("one", "/show info", "two", "/bye", "three"), lambda: None)
    assert chat.messages == []
    assert (
        capsys.readouterr().err == "Error: out of memory\nError: 404 page not found\nError: out of memory\n"
    )


def test_what_came_before_an_error_is_kept(client: Client, server: ScriptedServer) -> None:
    items = [{"message": {"role": "assistant", "content": "Hal"}}, {"error": "the engine died"}]
    server.answers["POST", "/api/chat"] = Answer(items)
    chat = Chat("m")
    hold_chat(client, chat, conversation("one"), lambda: 80)
    assert [message["content"] for message in chat.messages] == ["one", "Hal"]


def test_interrupting_the_prompt_tells_how_to_leave(
    client: Client, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    hold_chat(client, Chat("m"), conversation(KeyboardInterrupt, "/bye"), lambda: None)
    assert capsys.readouterr().out == LEAVE_HINT


def test_on_a_terminal_a_chat_begins(
    server: ScriptedServer, shim: Shim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    server.answers["POST", "/api/show"] = Answer({"capabilities": ["completion", "thinking"]})
    server.answers["POST", "/api/generate"] = Answer({"done": True, "done_reason": "load"})
    server.answers["POST", "/api/chat"] = echo_of
    from shim.cli.main import run

    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal("hello\n/bye\n"))
    monkeypatch.setattr("sys.stdout", screen)
    assert run(["run", "m"]) == 0
    assert server.bodies("/api/generate") == [{"model": "m", "prompt": "", "think": True, "stream": False}]
    assert "\x1b[2mThinking...\nhm\n...done thinking.\n\n\x1b[0m<hello>\n\n" in screen.getvalue()
    assert json.dumps(server.bodies("/api/chat")[0]["think"]) == "true"
