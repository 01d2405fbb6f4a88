"""Templates, forms of answers and text between others, with the real engine and over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

CHATML = (
    "{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}"
    '{{ if .ToolCalls }}<call>{{ range .ToolCalls }}{"name": "{{ .Function.Name }}"}{{ end }}{{ end }}'
    "{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}<|im_end|>\n{{ end }}"
    "{{ if .Suffix }}<pre>{{ .Prompt }}<suf>{{ .Suffix }}<mid>{{ else }}<|im_start|>assistant\n{{ end }}"
    "{{ if .Tools }}{{ end }}"
)
SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string", "maxLength": 20}, "river": {"type": "boolean"}},
    "required": ["capital", "river"],
    "additionalProperties": False,
}
HI = [{"role": "user", "content": "What is the capital of France? Has it a river?"}]


@pytest.fixture(scope="module")
def layered(server: ShimServer, dense_gguf: Path) -> ShimServer:
    server.create("layered", dense_gguf, f'TEMPLATE """{CHATML}"""', "SYSTEM Be brief.")
    server.create("legacy", dense_gguf, 'TEMPLATE """{{ .System }}|{{ .Prompt }}|{{ .Response }}!"""')
    return server


def ask(server: ShimServer, path: str, **body: Any) -> Any:
    options = {"temperature": 0, "num_predict": 60} | body.pop("options", {})
    status, answer = server.call("POST", path, {"stream": False, "options": options} | body)
    assert status == 200, answer
    return answer


def shown(server: ShimServer, path: str, **body: Any) -> str:
    text = ask(server, path, _debug_render_only=True, **body)["_debug_info"]["rendered_template"]
    assert isinstance(text, str)
    return text


def test_a_template_layer_renders_what_the_weights_own_template_would(layered: ShimServer) -> None:
    own = {"role": "system", "content": "Be brief."}
    through_layer = ask(layered, "/api/chat", model="layered", messages=HI)
    assert shown(layered, "/api/chat", model="layered", messages=HI) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
        "What is the capital of France? Has it a river?<|im_end|>\n<|im_start|>assistant\n"
    )
    through_jinja = ask(layered, "/api/chat", model="dense", messages=[own, *HI])
    assert through_layer["message"] == through_jinja["message"]
    assert through_layer["message"]["content"]


def test_capabilities_and_the_template_that_is_shown(layered: ShimServer) -> None:
    status, told = layered.call("POST", "/api/show", {"model": "layered"})
    assert status == 200
    assert {"completion", "tools", "insert", "thinking"} <= set(told["capabilities"])
    assert told["template"] == CHATML


def test_turns_of_an_older_template(layered: ShimServer) -> None:
    talk = [*HI, {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "And of Italy?"}]
    prompt = shown(layered, "/api/chat", model="legacy", messages=talk)
    assert prompt == f"|{HI[0]['content']}|Paris.!|And of Italy?|"
    assert ask(layered, "/api/chat", model="legacy", messages=talk)["done"]


def test_templates_and_systems_of_requests(layered: ShimServer) -> None:
    asked = {"model": "layered", "prompt": "hi", "system": "S"}
    assert shown(layered, "/api/generate", template="{{ .System }}/{{ .Prompt }}", **asked) == "S/hi"
    assert ask(layered, "/api/generate", template="{{ .Prompt }}", **asked)["response"]
    for template, text in (("{{ .Prompt", "template: :1: unclosed"), ("{{ index 1 2 }}", "template: :1:3")):
        status, answer = layered.call("POST", "/api/generate", {**asked, "template": template})
        assert status == 500
        assert answer["error"].startswith(text)


def test_text_between_two_others(layered: ShimServer) -> None:
    asked = {"model": "layered", "prompt": "def f(", "suffix": "return 1"}
    assert shown(layered, "/api/generate", **asked) == "<pre>def f(<suf>return 1<mid>"
    assert ask(layered, "/api/generate", **asked)["eval_count"]
    status, answer = layered.call("POST", "/api/generate", {**asked, "model": "dense"})
    assert status == 400
    assert answer["error"] == "registry.ollama.ai/library/dense:latest does not support insert"


@pytest.mark.parametrize("model", ["dense", "layered"])
@pytest.mark.parametrize("think", [None, False])
def test_answers_in_a_form(layered: ShimServer, model: str, think: bool | None) -> None:
    body = {"model": model, "messages": HI, "format": SCHEMA, "think": think, "options": {"num_predict": 120}}
    answer = ask(layered, "/api/chat", **body)
    found = json.loads(answer["message"]["content"])
    assert set(found) == {"capital", "river"}
    assert isinstance(found["river"], bool)
    text = ask(layered, "/api/generate", model=model, prompt="Two otters as JSON", format="json", think=think,
               options={"num_predict": 400, "temperature": 0.2, "seed": 3})  # fmt: skip
    assert text["response"].lstrip().startswith("{")


def test_a_form_that_is_none(layered: ShimServer) -> None:
    for form in ("yaml", [1], 3):
        status, answer = layered.call("POST", "/api/chat", {"model": "dense", "messages": HI, "format": form})
        assert status == 500
        assert answer["error"].startswith("invalid format: ")


def test_a_context_goes_on(layered: ShimServer) -> None:
    first = ask(layered, "/api/generate", model="layered", prompt="My name is Otto.")
    prompt = shown(layered, "/api/generate", model="layered", prompt="What is it?", context=first["context"])
    assert prompt.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nMy name is Otto.")
    assert prompt.endswith("<|im_start|>user\nWhat is it?<|im_end|>\n<|im_start|>assistant\n")
