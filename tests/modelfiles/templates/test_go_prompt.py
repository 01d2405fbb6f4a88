"""A Go template as prompts are asked of it."""

from datetime import datetime

import pytest

from modelfiles.errors import TemplateError
from modelfiles.messages import Message, tool_from_json
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import Conversation
from modelfiles.templates.tags import THINK

NOW = datetime(2026, 11, 30, 23, 59)
TOOL = tool_from_json({"function": {"name": "roll"}})


def asked(*texts: str, **fields: object) -> Conversation:
    roles = ("user", "assistant") * len(texts)
    messages = tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))
    return Conversation(messages, NOW, **fields)  # type: ignore[arg-type]  # the tests' own


@pytest.mark.parametrize(
    ("source", "conversation", "prompt"),
    [
        ("{{ .Prompt }}|", asked("hi"), "hi|"),
        ("[{{ .Prompt }}]{{ .Response }}.", asked("a", "b", "c"), "[a]b.[c]"),
        ("[{{ .Prompt }}]{{ .Response }}.", asked("a", "b"), "[a]b"),
        ("{{ range .Messages }}{{ .Role }}:{{ .Content }};{{ end }}", asked("a", "b"), "user:a;assistant:b;"),
        ("{{ currentDate }}{{ range .Messages }} {{ .Content }}{{ end }}", asked("a"), "2026-11-30 a"),
        ("{{ range .Messages }}{{ end }}{{ len .Tools }}", asked("a", tools=(TOOL,)), "1"),
        ("{{ .Prompt }}{{ .Think }}{{ .ThinkLevel }}{{ .IsThinkSet }}", asked("a"), "afalsefalse"),
        ("{{ .Think }}{{ .ThinkLevel }}{{ .IsThinkSet }}", asked("a", thinking="low"), "truelowtrue"),
        ("{{ .Think }}{{ .ThinkLevel }}{{ .IsThinkSet }}", asked("a", thinking=True), "truemediumtrue"),
        ("{{ .Think }}{{ .ThinkLevel }}{{ .IsThinkSet }}", asked("a", thinking=False), "falsetrue"),
        ("{{ .ThinkLevel }}.", asked("a", thinking="max"), "max."),
        ("<|start|>{{ .ThinkLevel }}<|end|>", asked("a", thinking="max"), "<|start|>high<|end|>"),
        ("{{ .Prompt }}.", asked(), "."),
    ],
)
def test_prompts(source: str, conversation: Conversation, prompt: str) -> None:
    assert GoPrompt(source).render(conversation) == prompt


def test_what_the_source_tells() -> None:
    template = GoPrompt(
        "{{ range .Messages }}{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}"
        "{{ if .ToolCalls }}[C] {{ range .ToolCalls }}{}{{ end }}{{ end }}{{ end }}"
    )
    assert (template.tags, template.tool_call_tag, template.inserts) == (THINK, "[C]", False)
    plain = GoPrompt("{{ .Prompt }}{{ .Suffix }}")
    assert (plain.tags, plain.tool_call_tag, plain.inserts) == (None, "{", True)


def test_text_between_two_others() -> None:
    template = GoPrompt("{{ .Prompt }}<{{ .Suffix }}>{{ .Think }}")
    assert template.render_insert("a", "b", asked(thinking=True)) == "a<b>true"


def test_failures_name_their_place() -> None:
    with pytest.raises(TemplateError, match=r"^template: :2: unclosed action"):
        GoPrompt("a\n{{ if")
    with pytest.raises(TemplateError, match=r"^template: :2:3: executing"):
        GoPrompt("a\n{{ index .Prompt 9 }}").render(asked("b"))
