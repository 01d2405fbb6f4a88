"""The commands of a chat: what they change, ask and say."""

from typing import Any

import pytest

from shim.cli.chat import Chat
from shim.cli.slash import HELP, SET_HELP, SHORTCUTS, SHOW_HELP, carry_out, is_command, wants_to_leave


class Recorder:
    """Answers every request with the same object, and remembers them."""

    def __init__(self, answer: dict[str, object] | None = None) -> None:
        self.answer = answer or {}
        self.requests: list[tuple[str, dict[str, object]]] = []

    def get(self, path: str, /) -> dict[str, object]:
        self.requests.append((path, {}))
        return self.answer

    def post(self, path: str, body: dict[str, object], /) -> dict[str, object]:
        self.requests.append((path, body))
        return self.answer


def say(line: str, chat: Chat, server: Recorder | None = None) -> str:
    return carry_out(line, chat, server or Recorder())


@pytest.mark.parametrize(
    ("line", "command"),
    [("/bye", True), ("/?", True), ("  /set verbose", True), ("/nonsense x", True),
     ("/home/me/a.png what?", False), ("a /bye", False), ("", False), ("/", True)],
)  # fmt: skip
def test_commands_are_told_from_paths(line: str, command: bool) -> None:
    assert is_command(line) is command


def test_leaving() -> None:
    assert wants_to_leave("/bye")
    assert wants_to_leave(" /exit ")
    assert not wants_to_leave("/byebye")


@pytest.mark.parametrize(
    ("line", "field", "value", "said"),
    [
        ("/set verbose", "verbose", True, "Set 'verbose' mode.\n"),
        ("/set quiet", "verbose", False, "Set 'quiet' mode.\n"),
        ("/set nohistory", "keeps_history", False, "Set 'nohistory' mode.\n"),
        ("/set history", "keeps_history", True, "Set 'history' mode.\n"),
        ("/set nowordwrap", "word_wrap", False, "Set 'nowordwrap' mode.\n"),
        ("/set think", "think", True, "Set 'think' mode.\n"),
        ("/set think high", "think", "high", "Set 'think' mode to 'high'.\n"),
        ("/set nothink", "think", False, "Set 'nothink' mode.\n"),
        ("/set format json", "format", "json", "Set format to 'json' mode.\n"),
        ("/set noformat", "format", None, "Disabled format.\n"),
        ("/set parameter num_ctx 8192", "options", {"num_ctx": 8192}, "Set parameter 'num_ctx' to '8192'\n"),
        ("/set parameter ctx_size 64", "options", {"num_ctx": 64}, "Set parameter 'ctx_size' to '64'\n"),
        ("/set parameter stop A B", "options", {"stop": ["A", "B"]}, "Set parameter 'stop' to 'A B'\n"),
        ("/set parameter num_experts_used 2", "options", {"num_experts_used": 2},
         "Set parameter 'num_experts_used' to '2'\n"),
    ],
)  # fmt: skip
def test_settings(line: str, field: str, value: Any, said: str) -> None:
    chat = Chat("m")
    assert say(line, chat) == said
    assert getattr(chat, field) == value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/set parameter num_ctx 4k", "Couldn't set parameter: invalid int value [4k] ("),
        (
            "/set parameter num_cxt 4",
            "Couldn't set parameter: unknown parameter 'num_cxt' (did you mean num_ctx?)",
        ),
        ("/set parameter num_ctx", "Usage: /set parameter <name> <value>\n"),
        ("/set system", "Usage: /set system <string>\n"),
        (
            "/set think loud",
            'invalid think value: "loud" (must be "high", "medium", "low", "max", true, or false)\n',
        ),
        ("/set format xml", "Invalid or missing format"),
        ("/set colour", "Unknown command '/set colour'"),
        ("/set", SET_HELP),
        ("/show", SHOW_HELP),
        ("/show nothing", SHOW_HELP),
        ("/load", "Usage: /load <model>\n"),
        ("/save", "Usage: /save <model>\n"),
        ("/fly", "Unknown command '/fly'. Type /? for help\n"),
        ("/?", HELP),
        ("/help set", SET_HELP),
        ("/? /show", SHOW_HELP),
        ("/help shortcuts", SHORTCUTS),
        ("/save a b", "The model name 'a b' is invalid\n"),
    ],
)
def test_mistakes_are_answered_and_change_nothing(line: str, said: str) -> None:
    chat = Chat("m")
    server = Recorder()
    assert say(line, chat, server).startswith(said)
    assert chat == Chat("m")
    assert server.requests == []


def test_system_messages_replace_each_other_and_survive_clearing() -> None:
    chat = Chat("m")
    assert say('/set system "Be brief."', chat) == "Set system message.\n"
    say("/set system 要简短", chat)
    chat.ask("hi")
    assert [message["content"] for message in chat.messages] == ["要简短", "hi"]
    assert say("/clear", chat) == "Cleared session context\n"
    assert chat.messages == [{"role": "system", "content": "要简短"}]


def test_show() -> None:
    server = Recorder({"license": "L", "parameters": "seed                           1", "system": "S"})
    chat = Chat("m")
    assert say("/show license", chat, server) == "L\n"
    assert say("/show template", chat, server) == "No template was specified for this model.\n"
    assert say("/show system", chat, server) == "S\n"
    assert "L" in say("/show info", chat, server)
    say("/set system mine", chat)
    say("/set parameter top_k 3", chat)
    assert say("/show system", chat, server) == "mine\n"
    assert say("/show parameters", chat, server).splitlines() == [
        "seed                           1",
        "top_k                          3 (set here)",
    ]
    assert server.requests == [("/api/show", {"model": "m"})] * 6


def test_load_begins_anew() -> None:
    chat = Chat("m", messages=[{"role": "user", "content": "x"}], options={"seed": 1}, verbose=True)
    server = Recorder()
    assert say("/load other", chat, server) == "Loaded model 'other'\n"
    assert chat == Chat("other", verbose=True)
    assert [path for path, _ in server.requests] == ["/api/show", "/api/generate"]


def test_save_keeps_the_session() -> None:
    chat = Chat("m")
    say("/set system Be brief.", chat)
    say("/set parameter seed 3", chat)
    chat.ask("hi")
    chat.answer("hello", "")
    server = Recorder()
    assert say("/save mine", chat, server) == "Created new model 'mine'\n"
    assert server.requests == [
        (
            "/api/create",
            {
                "model": "mine",
                "from": "m",
                "system": "Be brief.",
                "parameters": {"seed": 3},
                "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
                "stream": False,
            },
        )
    ]


def test_list() -> None:
    server = Recorder(
        {"models": [{"name": "m:latest", "digest": "ab" * 32, "size": 5}, {"name": "n:latest"}]}
    )
    assert say("/list m", Chat("m"), server) == (
        "NAME        ID              SIZE    MODIFIED\nm:latest    abababababab    5 B     -\n"
    )
    assert server.requests == [("/api/tags", {})]


def test_a_loaded_model_brings_its_abilities_and_messages() -> None:
    opening = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    server = Recorder({"capabilities": ["completion", "thinking", "vision"], "messages": opening})
    chat = Chat("m")
    assert say("/load other", chat, server) == "Loaded model 'other'\n>>> one\ntwo\n\n"
    assert (chat.think, chat.capabilities) == (True, ("completion", "thinking", "vision"))
    chat.ask("three")
    assert chat.save_body("x")["messages"] == [*opening, {"role": "user", "content": "three"}]
    say("/set nothink", chat)
    say("/load other", chat, server)
    assert chat.think is False  # who has switched it off does not want it back
    server.answer = {"capabilities": ["completion"]}
    say("/set think high", chat)
    say("/load plain", chat, server)
    assert chat.think is None
