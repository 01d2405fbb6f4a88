"""`shim render`: prompts of templates as Go makes them, and of models as the server does."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartServer
from tests.live.server import ShimServer
from tests.shim.cli.scripted import Shim
from tests.shim.cli.terminal import Terminal

DATA = Path(__file__).parents[2] / "data" / "gotemplate.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
INPUT = ("messages", "tools", "think", "system", "prompt", "suffix", "response")
CHAT: dict[str, object] = {"messages": [{"role": "user", "content": "hi 世界"}]}


@pytest.fixture(autouse=True)
def _at_a_fixed_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.cli.render.now", lambda: datetime(2026, 11, 30, 12))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_as_go(shim: Shim, tmp_path: Path, case: dict[str, Any]) -> None:
    template = tmp_path / "template"
    template.write_bytes(case["template"].encode())
    request = json.dumps({key: case[key] for key in INPUT if key in case})
    result = shim("render", "--template", str(template), "--go", "--input", "-", stdin=request.encode())
    expect = case["expect"]
    if "error_kind" in expect:
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith(f"{expect['error_kind']}: ")
        assert expect["error_contains"] in result.err
    elif "prompt" in expect:
        assert (result.code, result.out, result.err) == (0, expect["prompt"], "")


def rendered(
    shim: Shim, folder: Path, template: str, request: object, *arguments: str
) -> tuple[int, str, str]:
    file = folder / "template"
    file.write_text(template, "utf-8")
    data = request if isinstance(request, bytes) else json.dumps(request).encode()
    result = shim("render", "--template", str(file), *arguments, stdin=data)
    return result.code, result.out, result.err


JINJA = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if tools %}T{% endif %}"


@pytest.mark.parametrize("arguments", [(), ("--jinja",)])
def test_jinja(shim: Shim, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert rendered(shim, tmp_path, JINJA, CHAT, *arguments) == (0, "[user]hi 世界", "")
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    assert rendered(shim, tmp_path, JINJA, {**CHAT, "tools": tools}, *arguments)[1] == "[user]hi 世界T"
    asked = {"system": "S", "prompt": "P"}
    assert rendered(shim, tmp_path, JINJA, asked, *arguments)[1] == "[system]S[user]P"


@pytest.mark.parametrize(
    ("template", "request_", "error"),
    [
        ("{% for %}", CHAT, "parse: "),
        ("{{ raise_exception('no') }}", CHAT, "exec: the chat template refuses these messages: no"),
        (JINJA, {"prompt": "a", "suffix": "b"}, "exec: a Jinja template has no place for a suffix"),
        (JINJA, b"{", "Error: the request is no JSON: "),
        (JINJA, b"[1]", "Error: the request is no JSON object"),
        (JINJA, {"messages": [1]}, "Error: the request is wrong: json: cannot unmarshal number into Go"),
        (
            JINJA,
            {"messages": [], "think": "loud"},
            'Error: the request is wrong: invalid think value: "loud"',
        ),
    ],
)
def test_faults(shim: Shim, tmp_path: Path, template: str, request_: object, error: str) -> None:
    code, out, err = rendered(shim, tmp_path, template, request_, "--jinja")
    assert (code, out) == (1, "")
    assert err.startswith(error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "give either MODEL or --template FILE"),
        (("m", "--template", "x"), "give either MODEL or --template FILE"),
        (("m", "--go"), "--go is about a --template"),
        (("--template", "x", "--tokens"), "--tokens needs a MODEL"),
        (("--template", "-", "--input", "-"), "template and request cannot both be read from stdin"),
        (("--template", "missing", "--input", "-"), "cannot read missing: "),
        (("m", "--input", "missing"), "cannot read missing: "),
    ],
)
def test_wrong_use(shim: Shim, arguments: tuple[str, ...], error: str) -> None:
    result = shim("render", *arguments, stdin=b"{}")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"Error: {error}")


# Models of the store


@pytest.fixture
def store(
    start_server: StartServer, thinker_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[ShimServer, list[str]]:
    """A server with the model `m`, stopped; and what it would send to the model, asked before that."""
    server = start_server(SHIM_ENGINE="fake", SHIM_CONTEXT_LENGTH="64")
    lines = ("SYSTEM 回答要简短。", "MESSAGE user one", "MESSAGE assistant two", "PARAMETER num_ctx 1024")
    server.create("m", thinker_gguf, *lines)
    monkeypatch.setenv("OLLAMA_MODELS", str(server.store))
    monkeypatch.delenv("SHIM_MODELS", raising=False)
    prompts = []
    for path, request in REQUESTS:
        body = {**request, "model": "m", "stream": False, "_debug_render_only": True}
        status, answer = server.call("POST", path, body)
        assert status == 200, answer
        prompts.append(answer["_debug_info"]["rendered_template"])
    server.stop()
    return server, prompts


GO = "{{ if .Suffix }}<PRE>{{ .Prompt }}<SUF>{{ .Suffix }}<MID>{{ else }}{{ .System }}|{{ .Prompt }}{{ end }}"
BROKEN = '{{ range .Messages }}{{ template "none" . }}{{ end }}'


@pytest.mark.live
def test_go_templates_of_models(
    shim: Shim, start_server: StartServer, dense_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(SHIM_ENGINE="fake", OLLAMA_GO_TEMPLATE="1")
    server.create("filler", dense_gguf, f'TEMPLATE """{GO}"""', "SYSTEM S")
    server.create("faulty", dense_gguf, f'TEMPLATE """{BROKEN}"""')
    server.stop()
    monkeypatch.setenv("OLLAMA_MODELS", str(server.store))
    monkeypatch.setenv("OLLAMA_GO_TEMPLATE", "1")

    def prompt(model: str, request: dict[str, object]) -> tuple[int, str, str]:
        result = shim("render", model, stdin=json.dumps(request).encode())
        return result.code, result.out, result.err

    assert prompt("filler", {"prompt": "a", "suffix": "b"}) == (0, "<PRE>a<SUF>b<MID>", "")
    assert prompt("filler", {"prompt": "a"}) == (0, "S|a", "")
    assert prompt("filler", {"prompt": "a", "template": "[{{ .Prompt }}]"}) == (0, "[a]", "")
    code, out, err = prompt("filler", {"prompt": "a", "template": "[{{ .Prompt }"})
    assert (code, out) == (1, "")
    assert err.startswith("parse: template: :1: ")
    code, out, err = prompt("faulty", CHAT)
    assert (code, out) == (1, "")
    assert err.startswith("exec: template: :1:")
    assert 'template "none" not defined' in err


REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("/api/chat", CHAT),
    ("/api/chat", {**CHAT, "think": False}),
    ("/api/chat", {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]}),
    ("/api/generate", {"prompt": "Hello", "think": True}),
    ("/api/generate", {"prompt": "Hello", "system": "other"}),
    ("/api/generate", {"prompt": "Hello", "raw": True}),
]


@pytest.mark.live
def test_a_models_prompt_is_the_servers(shim: Shim, store: tuple[ShimServer, list[str]]) -> None:
    for (_, request), prompt in zip(REQUESTS, store[1], strict=True):
        result = shim("render", "M", stdin=json.dumps(request).encode())
        assert (result.code, result.out, result.err) == (0, prompt, "")
    assert "回答要简短。" in store[1][0]


@pytest.mark.live
def test_tokens_and_the_context(shim: Shim, store: tuple[ShimServer, list[str]]) -> None:
    ids = json.loads(shim("render", "m", "--tokens", stdin=json.dumps(CHAT).encode()).out)
    (store[0].home / "request.json").write_text(json.dumps(CHAT))
    arguments = ["render", "m", "--tokens", "--input", "request.json"]
    with Terminal(arguments, store[0].environment(), store[0].home) as terminal:
        assert terminal.ended() == 0
        header, first, *_ = terminal.shown.splitlines()
    assert (header.split(), first.split()) == (["ID", "PIECE"], ["1", '"<|im_start|>"'])
    assert ids[0] == 1  # <|im_start|>, as the prompt begins
    assert len(ids) > 30
    long = {"messages": [{"role": "user", "content": f"{n} " * 120} for n in range(9)]}
    shortened = shim("render", "m", stdin=json.dumps(long).encode()).out
    assert "回答要简短。" in shortened  # the system message stays
    assert "8 8 8" in shortened
    assert "1 1 1" not in shortened


def test_a_model_that_is_not_there(shim: Shim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    result = shim("render", "nobody", stdin=json.dumps(CHAT).encode())
    assert (result.code, result.out) == (1, "")
    assert result.err == "Error: model 'nobody' not found\nhint: 'shim list' lists the models\n"


@pytest.mark.live
def test_a_request_without_a_prompt(shim: Shim, store: tuple[ShimServer, list[str]]) -> None:
    assert shim("render", "m", stdin=b"{}").err.startswith("Error: the request has neither a prompt nor ")
