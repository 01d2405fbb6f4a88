"""Go templates against prompts and errors that Go itself gave, and against arbitrary text."""

from __future__ import annotations

import base64
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import TemplateError
from modelfiles.messages import Message, ToolCall, tool_from_json
from modelfiles.templates.go import GoTemplate, parse_template

DATA = Path(__file__).parents[3] / "data"
# The second is about the language alone; its right values are from Go 1.26.
FILES = ("gotemplate.jsonl", "gotemplate_language.jsonl")
CASES = [json.loads(line) for file in FILES for line in (DATA / file).read_text("utf-8").split("\n") if line]
ROLES = {"system": "system", "prompt": "user", "response": "assistant"}
TODAY = date(2026, 11, 30)


def message(raw: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(
            name=call["function"]["name"],
            arguments=call["function"].get("arguments", {}),
            id=call.get("id"),
            index=call["function"].get("index"),
        )
        for call in raw.get("tool_calls") or ()
    )
    return Message(
        role=raw["role"],
        content=raw.get("content") or "",
        thinking=raw.get("thinking") or "",
        images=tuple(base64.b64decode(image) for image in raw.get("images", ())),
        tool_calls=calls,
        tool_name=raw.get("tool_name", ""),
        tool_call_id=raw.get("tool_call_id", ""),
    )


def render(template: GoTemplate, case: dict[str, Any]) -> str:
    think = case.get("think")
    if "messages" not in case and "prompt" in case and "suffix" in case:
        return template.render_insert(case["prompt"], case["suffix"], today=TODAY, think=think)
    plain = [{"role": role, "content": case[key]} for key, role in ROLES.items() if key in case]
    messages = [message(raw) for raw in case.get("messages", plain)]
    tools = [tool_from_json(raw) for raw in case.get("tools", ())]
    return template.render(messages, today=TODAY, tools=tools, think=think)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_as_go(case: dict[str, Any]) -> None:
    expect = case["expect"]
    if expect.get("error_kind") == "parse":
        with pytest.raises(TemplateError) as refused:
            parse_template(case["template"])
        assert expect["error_contains"] in str(refused.value)
        return
    template = parse_template(case["template"])
    if "vars" in expect:
        assert sorted(template.variables) == expect["vars"]
    if "thinking_tags" in expect:
        tags = template.thinking_tags
        assert ([tags.open, tags.close] if tags else None) == expect["thinking_tags"]
    if expect.get("error_kind") == "exec":
        with pytest.raises(TemplateError) as failed:
            render(template, case)
        assert expect["error_contains"] in str(failed.value)
    elif "prompt" in expect:
        assert render(template, case) == expect["prompt"]


SIGNS = "{{ }} {{- -}} .Messages range if end else $x := | ( ) 1 nil define with printf eq /* */ text"
PIECES = st.sampled_from([*SIGNS.split(), '"a"', "`b`", " ", "\n"])


@given(st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=40))
def test_any_text_parses_and_renders_or_is_refused(text: str) -> None:
    refusal = ""
    try:
        parse_template(text).render([Message(role="user", content="hello")], today=TODAY)
    except TemplateError as error:  # any other exception fails the test
        refusal = str(error)
    assert refusal == "" or "template" in refusal


@pytest.mark.parametrize(
    "text",
    [
        '{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}',
        "{{ range 1000000000 }}{{ range 1000000000 }}x{{ end }}{{ end }}",
        '{{ $a := "aaaaaaaa" }}{{ range 1000 }}{{ $a = printf "%s%s" $a $a }}{{ end }}{{ $a }}',
    ],
)
def test_no_template_runs_or_grows_for_ever(text: str) -> None:
    with pytest.raises(TemplateError):
        parse_template(text).render([Message(role="user", content="hello")], today=TODAY)
