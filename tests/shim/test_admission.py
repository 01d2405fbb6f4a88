"""Which settings win, and what a model must be able to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from modelfiles.errors import ParameterError
from modelfiles.messages import tool_from_json
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from modelfiles.replies.generic import GenericStyle
from modelfiles.replies.pieces import Content
from modelfiles.replies.pieces import Thinking as Thought
from modelfiles.replies.stream import ReplyReader
from modelfiles.templates.choice import Templates
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import ChatTemplate
from modelfiles.templates.switches import Thinking
from modelfiles.templates.tags import THINK
from runtime.shape import shape_of
from runtime.supervisor import ModelSpec
from shim.admission import Admitted, admit, check_renderer, effective_thinking
from shim.errors import ApiError
from shim.options import OptionDefaults, ReplyOptions
from shim.requests import ChatRequest
from shim.resolve import Target

TOOLS = (tool_from_json({"function": {"name": "f"}}),)
HERMES = ChatTemplate("<tool_call>{{ call|tojson }}</tool_call>")
THINKS = ChatTemplate("<think></think>")
GO = GoPrompt(
    "{{ range .Messages }}{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}"
    "{{ if .ToolCalls }}[CALLS] {{ .ToolCalls }}{{ end }}{{ .Content }}{{ end }}"
)


def target(
    *capabilities: str,
    weights: bool = True,
    parser: str = "",
    family: str = "",
    **parameters: object,
) -> Target:
    package = Package(
        name=parse_name("M:q4"),
        digest="0" * 64,
        size=0,
        modified_ns=0,
        config=Config(parser=parser, model_family=family),
        model_path=Path("weights") if weights else None,
        parameters=parameters,
    )
    spec = ModelSpec("key", "weights", "llama", shape_of({}), "M:q4") if weights else None
    return Target("m:Q4", package, capabilities, Templates(), spec)


def admitted(found: Target, request: ChatRequest | None = None, *, tools: bool = False) -> Admitted:
    return admit(
        request or ChatRequest(model="m:Q4"), found, OptionDefaults(), 0, purpose="chat", tools=tools
    )


@pytest.mark.parametrize(
    ("found", "tools", "message"),
    [
        (target("image"), False, "image generation models are not currently supported"),
        (target("embedding"), False, '"m:Q4" does not support chat'),
        (target("completion"), True, "registry.ollama.ai/library/M:q4 does not support tools"),
        (target(weights=False), False, '"m:Q4" has no GGUF weights, and other formats cannot be run here'),
    ],
)
def test_refusals(found: Target, tools: bool, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        admitted(found, tools=tools)
    assert caught.value.message.startswith(message)
    assert caught.value.status == 400


def test_capabilities_come_before_options() -> None:
    wrong = ChatRequest(model="m", options={"seed": "x"})
    with pytest.raises(ApiError, match="does not support"):
        admitted(target("embedding"), wrong)
    with pytest.raises(ApiError, match="seed"):
        admitted(target("completion"), wrong)


def test_parsers_of_model_and_request_are_checked() -> None:
    with pytest.raises(ParameterError, match="reasoning_parser"):
        admitted(target("completion", reasoning_parser="x"))
    with pytest.raises(ParameterError, match="tool_call_parser"):
        admitted(target("completion"), ChatRequest(model="m", options={"tool_call_parser": "x"}))


def test_options_are_merged() -> None:
    found = admitted(
        target("completion", temperature=0.5, num_ctx=512), ChatRequest(model="m", options={"seed": 7})
    )
    assert (found.options.sampling.temperature, found.options.sampling.seed) == (0.5, 7)
    assert (found.options.load.num_ctx, found.options.explicit) == (512, frozenset(("num_ctx",)))


@pytest.mark.parametrize(
    ("think", "reply", "capabilities", "thinking"),
    [
        (None, ReplyOptions(), ("thinking",), True),
        (None, ReplyOptions(), (), None),
        (None, ReplyOptions(enable_thinking=False), ("thinking",), False),
        (None, ReplyOptions(chat_template_kwargs={"enable_thinking": False}), ("thinking",), False),
        (False, ReplyOptions(enable_thinking=True), ("thinking",), False),
        ("low", ReplyOptions(enable_thinking=False), ("thinking",), "low"),
    ],
)
def test_thinking(
    think: Thinking, reply: ReplyOptions, capabilities: tuple[str, ...], thinking: Thinking
) -> None:
    assert effective_thinking(think, reply, capabilities) == thinking


@pytest.mark.parametrize(
    ("think", "asked", "variables"),
    [
        (None, {}, {"enable_thinking": False, "style": "dry"}),
        (True, {}, {"style": "dry"}),
        (None, {"style": "wet"}, {"enable_thinking": False, "style": "wet"}),
        (True, {"enable_thinking": False}, {"enable_thinking": False, "style": "dry"}),
    ],
)
def test_template_variables(think: Thinking, asked: dict[str, object], variables: dict[str, object]) -> None:
    kwargs = {"enable_thinking": False, "style": "dry"}
    request = ChatRequest(model="m", think=think, template_variables=asked)
    found = admitted(target("completion", "thinking", chat_template_kwargs=kwargs), request)
    assert found.template_variables() == variables


def test_how_replies_are_read() -> None:
    plain = admitted(target("completion"))
    style = plain.style(HERMES, TOOLS)
    assert style is not None
    assert style.name == "hermes"
    assert plain.style(HERMES, ()) is None
    builtin = admitted(target("completion", parser="qwen3-coder")).style(HERMES, TOOLS)
    assert builtin is not None
    assert builtin.name == "qwen3_coder"
    assert plain.tags(THINKS) == THINK
    assert admitted(target("completion", reasoning_parser="none")).tags(THINKS) is None


def test_how_replies_to_a_template_layer_are_read() -> None:
    able = target("completion", "thinking")
    assert admitted(able).tags(GO) == THINK
    off = ChatRequest(model="m", think=False)
    assert admitted(able, off).tags(GO) is None
    named = target("completion", "thinking", parser="qwen3.5")
    assert admitted(named, off).tags(GO) == THINK
    assert admitted(target("completion")).tags(GO) is None
    assert admitted(able).style(GO, TOOLS) == GenericStyle("[CALLS]")
    assert admitted(able).style(GO, ()) is None
    assert admitted(target("completion", tool_call_parser="none")).style(GO, TOOLS) is None
    coder = admitted(named).style(GO, TOOLS)
    assert coder is not None
    assert coder.name == "qwen3_coder"
    assert admitted(target("completion", parser="passthrough")).style(HERMES, TOOLS) is None


def test_models_that_talk_in_channels() -> None:
    found = admitted(target("completion", family="gptoss"))
    tags = found.tags(GoPrompt("<|start|>{{ .Prompt }}<|end|>"))
    assert tags is not None
    reader = ReplyReader(tags)
    said = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes."
    assert [*reader.feed(said), *reader.finish()] == [Thought("hm"), Content("Yes.")]
    assert found.tags(GoPrompt("{{ .Prompt }}")) is None


def test_renderers() -> None:
    check_renderer(replace(target().package, config=Config(renderer="gemma4")))
    with pytest.raises(ApiError, match=r'^unknown renderer "x"$') as caught:
        check_renderer(replace(target().package, config=Config(renderer="x")))
    assert caught.value.status == 500
