"""Whole templates, written for these tests after the habits of real families."""

from datetime import datetime
from pathlib import Path

import pytest

from modelfiles.errors import TemplateError, TemplateRefused
from modelfiles.messages import Message, ToolCall, tool_from_json
from modelfiles.templates.budget import Budget
from modelfiles.templates.jinja import FALLBACK_SOURCE, ChatTemplate, Conversation
from modelfiles.templates.switches import Thinking
from modelfiles.templates.tags import THINK

DATA = Path(__file__).parents[2] / "data" / "templates"
NOW = datetime(2026, 11, 30, 9, 5)
TOOL = tool_from_json(
    {
        "function": {
            "name": "roll",
            "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}},
        }
    }
)
TWO_CALLS = Message("assistant", tool_calls=(ToolCall("roll", {"sides": 6}), ToolCall("roll", {"sides": 20})))


def load(name: str) -> ChatTemplate:
    return ChatTemplate((DATA / f"{name}.jinja").read_text())


def show(
    template: ChatTemplate,
    *messages: Message,
    thinking: Thinking = None,
    tools: bool = False,
    **variables: object,
) -> str:
    return template.render(
        Conversation(
            messages, NOW, (TOOL,) if tools else (), thinking, variables=variables, bos="<s>", eos="</s>"
        )
    )


USER = Message("user", "Hi <b>")


def test_thinking_on_off_and_unset() -> None:
    otter = load("otter")
    assert otter.tags == THINK
    asked = "<|im_start|>user\nHi <b><|im_end|>\n<|im_start|>assistant\n"
    assert show(otter, USER) == asked + "<think>\n"
    assert show(otter, USER, thinking=True) == asked + "<think>\n"
    assert show(otter, USER, thinking="low") == asked + "<think>\n"
    assert show(otter, USER, thinking=False) == asked + "<think>\n\n</think>\n\n"


def test_explicit_variables_win_over_the_switch() -> None:
    assert show(load("otter"), USER, thinking=True, enable_thinking=False).endswith("</think>\n\n")


def test_tools_calls_and_results() -> None:
    results = (Message("tool", "4"), Message("tool", "17"))
    system = Message("system", "Be brief.")
    assert show(load("otter"), system, USER, TWO_CALLS, *results, tools=True) == (
        "<|im_start|>system\nBe brief.\n\nTools:\n"
        '{"name": "roll", "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}\n'
        "<|im_end|>\n<|im_start|>user\nHi <b><|im_end|>\n<|im_start|>assistant\n"
        "\n<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n</function>\n</tool_call>"
        "\n<tool_call>\n<function=roll>\n<parameter=sides>\n20\n</parameter>\n</function>\n</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>4</tool_response><|im_end|>\n"
        "<|im_start|>user\n<tool_response>17</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n<think>\n"
    )


def test_thinking_of_the_past_is_the_templates_business() -> None:
    thought = Message("assistant", "4", thinking="easy")
    prompt = show(load("otter"), USER, thought, USER)
    assert "easy" not in prompt
    within_turn = show(
        load("otter"), USER, Message("assistant", "", thinking="easy", tool_calls=TWO_CALLS.tool_calls)
    )
    assert "<think>\neasy\n</think>" in within_turn


def test_an_answer_at_the_end_is_continued() -> None:
    begun = show(load("otter"), USER, Message("assistant", "The answer"), thinking=False)
    assert begun.endswith("<think>\n\n</think>\n\nThe answer")
    begun = show(load("otter"), USER, Message("assistant", "The answer", thinking="easy"))
    assert begun.endswith("<|im_start|>assistant\n<think>\neasy\n</think>\n\nThe answer")
    begun = show(load("otter"), USER, Message("assistant", "", thinking="so far"))
    assert begun.endswith("<|im_start|>assistant\n<think>\nso far")


def test_a_lone_answer_is_rendered_like_any_message() -> None:
    assert "<|im_start|>assistant\nA<|im_end|>" in show(load("otter"), Message("assistant", "A"))


def test_strict_templates_get_an_arrangement_that_they_accept() -> None:
    heron = load("heron")
    system = Message("system", "Be brief.")
    assert show(heron, system, USER, USER) == "<s>[INST]Be brief.\n\nHi <b>\n\nHi <b>[/INST]"
    results = (Message("tool", "4"), Message("tool", "17"))
    assert show(heron, USER, TWO_CALLS, *results) == (
        "<s>[INST]Hi <b>[/INST]"
        '[TOOL_CALLS]000000000:roll{"sides": 6}</s>[TOOL_RESULTS]000000000:4[/TOOL_RESULTS]'
        '[TOOL_CALLS]000000001:roll{"sides": 20}</s>[TOOL_RESULTS]000000001:17[/TOOL_RESULTS]'
    )


def test_old_templates_get_their_old_shapes() -> None:
    raven = load("raven")
    assert show(raven, USER) == "<user>Hi <b>\n<assistant>"
    assert show(raven, USER, Message("assistant", tool_calls=TWO_CALLS.tool_calls[:1]), tools=True) == (
        'TOOL roll: \n<user>Hi <b>\n<assistant> roll {"sides": 6}\n<assistant>'
    )


def test_fallback() -> None:
    template = ChatTemplate(FALLBACK_SOURCE)
    assert template.tags is None
    assert show(template, Message("system", "S"), USER) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi <b><|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_moment_is_an_argument() -> None:
    template = ChatTemplate("{{ strftime_now('%d %b %Y') }} {{ datetime }}{{ messages[0].content }}")
    assert show(template, USER) == "30 Nov 2026 Nov 30 2026 09:05:00Hi <b>"


def test_variables_cannot_replace_the_messages() -> None:
    template = ChatTemplate("{{ messages|length }}{{ extra }}")
    assert show(template, USER, messages=[], extra="!") == "1!"


def test_a_template_that_refuses_everything() -> None:
    template = ChatTemplate("{{ raise_exception('only on Sundays') }}")
    with pytest.raises(TemplateRefused, match="refuses these messages: only on Sundays"):
        show(template, USER)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ messages[0].nothing.more }}", "has no attribute 'nothing'"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ range(10 ** 9) }}", "Range too big"),
        ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "far more work"),
        ("{% include 'x' %}", "no loader"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
    ],
)
def test_failures_are_the_templates(source: str, message: str) -> None:
    template = ChatTemplate(source)
    with pytest.raises(TemplateError, match=message):
        show(template, USER)


def test_no_messages_at_all() -> None:
    assert show(load("otter"), thinking=False).endswith("assistant\n<think>\n\n</think>\n\n")


def test_everything_that_real_templates_reach_for() -> None:
    arguments = {"sides": 6, "by": "ü", "not": None, "all": [1, {"a": True}]}
    calls = (ToolCall("roll", arguments), ToolCall("now", {}))
    chat = (
        Message("system", "Be <brief>."),
        Message("user", "Hi"),
        Message("assistant", "<think>\nold\n</think>\n\nYes?"),
        Message("user", "Roll"),
        Message("assistant", "Sure.", thinking="A die.", tool_calls=calls),
        Message("tool", "4\n5"),
        Message("tool", "noon"),
    )
    assert show(load("wren"), *chat, tools=True, thinking=False) == (
        '<s>2026-11-30roll(sides: integer) {\n "type":"object",\n "properties":{\n  "sides":{\n'
        '   "type":"integer"\n  }\n }\n}\n'
        "\n[SYSTEM]Be <brief>.\n[USER]Hi\n[ASSISTANT]Yes?\n[USER]Roll\n[ASSISTANT]<think>A die.</think>Sure."
        '<call roll all=[1, {"a": true}] by=ü sides=6/><call now/>'
        "\n[TOOL]now: 4 5;\n[TOOL]now: noon\n[ASSISTANT]"
    )
    with pytest.raises(TemplateRefused, match="too many questions: 5"):
        show(load("wren"), USER, Message("assistant", "A"), USER, Message("assistant", "B"), USER)


def test_what_a_template_leaves_out_is_told_elsewhere() -> None:
    swift = load("swift")
    asked, system = Message("user", "Hi"), Message("system", "Be brief.")
    assert show(swift, asked) == "Q: Hi\nA:"
    assert show(swift, system, asked) == "Q: Be brief.\n\nHi\nA:"
    assert show(swift, asked, Message("assistant", "Yes?"), system, asked) == (
        "Q: Be brief.\n\nHi\nA: Yes?\nQ: Hi\nA:"
    )
    call = Message("assistant", tool_calls=(ToolCall("roll", {"sides": 6}),))
    assert show(swift, system, asked, call, Message("tool", "4")) == (
        'Q: Be brief.\n\nHi\nA: {"name": "roll", "arguments": {"sides": 6}}\nQ: 4\nA:'
    )


def test_system_text_that_is_lost_while_tools_answer() -> None:
    source = (
        "{% for m in messages if m.role != 'system' %}"
        "{% set first = messages[0] %}"
        "{% if m.role == 'user' and loop.last and first.role == 'system' %}{{ first.content }}|{% endif %}"
        "{{ m.role }}:{{ m.content }};{% endfor %}"
    )
    template, system = ChatTemplate(source), Message("system", "S")
    assert show(template, system, USER) == "S|user:Hi <b>;"
    call = Message("assistant", tool_calls=(ToolCall("roll", {}),))
    assert show(template, system, USER, call, Message("tool", "4")) == "user:S\n\nHi <b>;assistant:;tool:4;"


def test_results_that_are_shown_beside_their_tools_only_stay_results() -> None:
    template = ChatTemplate(
        "{% for m in messages if m.role != 'tool' or tools %}{{ m.role }}:{{ m.content }};{% endfor %}"
    )
    call = Message("assistant", tool_calls=(ToolCall("roll", {}),))
    assert show(template, USER, call, Message("tool", "4"), tools=True).endswith("tool:4;")


def test_tools_without_properties_and_with_open_ones() -> None:
    source = (
        "{% for t in tools or [] %}"
        "{% for name, p in t.function.parameters.properties.items() %}{{ name }} {% endfor %}"
        "{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    bare = tool_from_json({"function": {"name": "now"}})
    conversation = Conversation((USER,), NOW, (bare,))
    assert ChatTemplate(source).render(conversation) == "Hi <b>"
    source = source.replace("{{ name }} ", "{{ p.additionalProperties.type.x or p.type }}")
    holding = tool_from_json(
        {"function": {"name": "f", "parameters": {"properties": {"deep": {"type": "object"}}}}}
    )
    assert ChatTemplate(source).render(Conversation((USER,), NOW, (holding,))) == "objectHi <b>"


def test_finding_out_what_a_template_wants_has_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(Budget):
        def __init__(self, units: int) -> None:
            made.append(units)
            super().__init__(units)

    monkeypatch.setattr("modelfiles.templates.jinja.Budget", Counted)
    hostile = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    template = ChatTemplate(hostile)
    assert len(made) == 1
    with pytest.raises(TemplateError, match="far more work"):
        show(template, USER)
