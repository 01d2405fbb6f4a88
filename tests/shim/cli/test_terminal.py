"""The interactive chat on a real terminal, against the real server: scripted answers, and real ones."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.live.server import REPOSITORY, ShimServer
from tests.modelfiles.gguf.building import STRING, gguf
from tests.shim.cli.terminal import CTRL_C, CTRL_D, ENTER, TAB, UP, Terminal
from tests.shim.serving import CHATTING

pytestmark = pytest.mark.slow

THINKING = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% else %}<think>\n"
    "{% endif %}{% endif %}"
)
Open = Callable[..., Terminal]


@pytest.fixture
def running(start_server: StartServer) -> ShimServer:
    """A server with the models `m`, and `thinker`, which thinks first."""
    server = start_server(SHIM_ENGINE="fake")
    for name, template in (("m", None), ("thinker", THINKING)):
        file = server.home / f"{name}.gguf"
        extra = {} if template is None else {"tokenizer.chat_template": (STRING, template)}
        file.write_bytes(gguf({**CHATTING, **extra, "general.name": (STRING, name)}))
        server.create(name, file)
    return server


def open_chat(server: ShimServer, *arguments: str, **variables: str) -> Terminal:
    state = {"XDG_STATE_HOME": str(server.home / "state")}
    return Terminal(["run", *arguments], {**server.environment(), **state, **variables}, server.home)


def says(text: str) -> str:
    return f"[[fake:say]]{text}[[fake:end]]"


def test_a_conversation(running: ShimServer) -> None:
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        chat.say(says("你好，世界"))
        assert "\n你好，世界\n\n>>> " in chat.until("世界\n\n>>> ")
        chat.say('"""first')
        chat.until("... ")
        chat.say(says("two lines") + '"""')
        chat.until("\ntwo lines\n\n>>> ")
        chat.say("/set verbose")
        chat.until("Set 'verbose' mode.\n>>> ")
        chat.say(says("quick"))
        timed = chat.until("eval rate:")
        assert "\nquick\n\ntotal duration:" in timed
        chat.until(">>> ")
        chat.say("/bye")
        assert chat.ended() == 0


def test_ctrl_c_stops_the_answer_and_not_the_session(running: ShimServer) -> None:
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        chat.say(says("beginning") + "[[fake:hold=9]]")
        chat.until("\nbeginning")
        chat.type(CTRL_C)
        chat.until("\n\n>>> ")
        chat.say(says("still here") + "[[fake:hold=99]]")
        chat.until("\nstill here\n\n>>> ")
        chat.type(CTRL_C)
        chat.until("Use Ctrl + d or /bye to exit.\n>>> ")
        chat.type(CTRL_D)
        assert chat.ended() == 0


def test_thinking_is_dim_and_can_be_hidden_and_switched_off(running: ShimServer) -> None:
    answer = says("so it is</think>42")
    with open_chat(running, "thinker") as chat:
        chat.until(">>> ")
        chat.say(answer)
        chat.until("Thinking...\nso it is\n...done thinking.\n\n42\n\n>>> ")
        assert "\x1b[2mThinking...\r\nso it is\r\n...done thinking.\r\n\r\n\x1b[0m42" in chat.raw
        chat.say("/set nothink")
        chat.until("Set 'nothink' mode.\n>>> ")
        chat.say(says("at once"))
        assert "Thinking" not in chat.until("\nat once\n\n>>> ")
    with open_chat(running, "thinker", "--hidethinking") as chat:
        chat.until(">>> ")
        chat.say(answer)
        assert "Thinking" not in chat.until("\n42\n\n>>> ")
    with open_chat(running, "thinker", NO_COLOR="1") as chat:
        chat.until(">>> ")
        chat.say(answer)
        chat.until("...done thinking.\n\n42\n\n>>> ")
        assert "\x1b[2m" not in chat.raw


def test_commands(running: ShimServer) -> None:
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        for line, shown in (
            ("/?", "Help for keyboard shortcuts"),
            ("/help set", "/set nohistory"),
            ("/list", "thinker:latest"),
            ("/set system 要简短", "Set system message.\n"),
            ("/show system", "要简短\n"),
            ("/show info", "architecture        llama\n"),
            ("/show modelfile", "# FROM m:latest"),
            ("/set parameter num_ctx 2048", "Set parameter 'num_ctx' to '2048'\n"),
            ("/set format json", "Set format to 'json' mode.\n"),
            ("/set noformat", "Disabled format.\n"),
            (says("kept"), "\nkept\n"),
            ("/save mine", "Created new model 'mine'\n"),
            ("/clear", "Cleared session context\n"),
            ("/load nobody", "Error: model 'nobody:latest' not found\n"),
            ("/load mine", "\nkept\n"),
            ("/fly", "Unknown command '/fly'. Type /? for help\n"),
        ):
            chat.say(line)
            chat.until(shown)
            chat.until(">>> ")
        chat.say("/exit")
        assert chat.ended() == 0
    status, shown_model = running.call("POST", "/api/show", {"model": "mine"})
    assert (status, shown_model["system"]) == (200, "要简短")
    assert [message["role"] for message in shown_model["messages"]] == ["user", "assistant"]
    assert "num_ctx                        2048" in shown_model["parameters"].splitlines()


def test_lines_are_edited_completed_and_remembered(running: ShimServer) -> None:
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        chat.say(says("remembered"))
        chat.until("\nremembered\n\n>>> ")
        chat.say("/set nohistory")
        chat.until(">>> ")
        chat.say("/set system secret")
        chat.until(">>> ")
    history = running.home / "state" / "moe-shim" / "history"
    assert [json.loads(line) for line in history.read_text("utf-8").splitlines()] == [
        says("remembered"),
        "/set nohistory",
    ]
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        chat.type(UP + UP + ENTER)
        chat.until("\nremembered\n\n>>> ")
        chat.type("/set verb" + TAB + ENTER)
        chat.until("Set 'verbose' mode.\n>>> ")
    kept = history.read_bytes()
    with open_chat(running, "m", OLLAMA_NOHISTORY="1") as chat:
        chat.until(">>> ")
        chat.say(says("unseen"))
        chat.until("\nunseen\n\n>>> ")
    assert history.read_bytes() == kept


def test_images_are_refused_where_the_model_cannot_see(running: ShimServer) -> None:
    (running.home / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        chat.say("what is ./a.png")
        chat.until("Error: m cannot see images, and the message names one: a.png\n")
        chat.until(">>> ")
        chat.say(says("next"))
        chat.until("\nnext\n\n>>> ")


def test_a_server_that_goes_away_ends_only_the_turn(running: ShimServer) -> None:
    with open_chat(running, "m") as chat:
        chat.until(">>> ")
        running.stop()
        chat.say("hello?")
        chat.until("Error: could not connect to a server at ")
        chat.until(">>> ")
        running.start()
        chat.say(says("back"))
        chat.until("\nback\n\n>>> ")
        chat.type(CTRL_D)
        assert chat.ended() == 0


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_doctor_is_coloured_where_that_is_wanted(
    tmp_path: Path, variables: dict[str, str], coloured: bool
) -> None:
    environment = {"HOME": str(tmp_path), "OLLAMA_HOST": "127.0.0.1:0", "PYTHONPATH": str(REPOSITORY)}
    with Terminal(["doctor"], environment | variables, tmp_path, columns=200) as terminal:
        terminal.ended()
    assert "\nstore" in terminal.shown
    assert ("\x1b[32mok\x1b[0m" in terminal.raw) is coloured


@pytest.mark.live
def test_with_the_real_engine(start_server: StartServer, dense_gguf: Path) -> None:
    server = start_server()
    server.create("dense", dense_gguf, "PARAMETER temperature 0", "PARAMETER num_predict 12")
    question = "What is the capital of France?"
    body = {"model": "dense", "messages": [{"role": "user", "content": question}], "stream": False}
    status, answer = server.call("POST", "/api/chat", body)
    assert status == 200
    with open_chat(server, "dense", "--verbose", "--nowordwrap") as chat:
        chat.until(">>> ")
        chat.say(question)
        shown = chat.until("eval rate:")
        assert f"{question}\n{answer['message']['content']}\n\ntotal duration:" in shown
        chat.until("eval count:           12 token(s)\n")
        chat.until(">>> ")
        chat.say("/bye")
        assert chat.ended() == 0
