"""Merging Modelfile content."""

from __future__ import annotations

from pathlib import Path

import pytest

from modelfiles.messages import Message
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from shim.prompt import forget_thinking, generate_messages, go_on, merge_messages


def messages(text: str) -> tuple[Message, ...]:
    """`s:` system, `u:` user, `a:` assistant."""
    roles = {"s": "system", "u": "user", "a": "assistant", "d": "developer"}
    return tuple(Message(roles[part[0]], part[2:]) for part in text.split())


def shape(found: tuple[Message, ...]) -> str:
    return " ".join(f"{message.role[0]}:{message.content}" for message in found)


def package(*, family: str = "llama", name: str = "m", system: str = "", history: str = "") -> Package:
    return Package(
        name=parse_name(name),
        digest="0" * 64,
        size=0,
        modified_ns=0,
        config=Config(model_family=family),
        model_path=Path("weights"),
        system=system,
        messages=messages(history),
    )


@pytest.mark.parametrize(
    ("asked", "merged"),
    [
        ("u:hi", "s:S u:x a:y u:hi"),
        ("s:own u:hi", "u:x a:y s:own u:hi"),
        ("d:own u:hi", "u:x a:y s:own u:hi"),
        ("u:hi s:late", "s:S u:x a:y u:hi s:late"),
        ("u:hi d:late", "s:S u:x a:y u:hi s:late"),
    ],
)
def test_merge(asked: str, merged: str) -> None:
    assert shape(merge_messages(package(system="S", history="u:x a:y"), messages(asked))) == merged


def test_merge_without_modelfile_content() -> None:
    assert shape(merge_messages(package(), messages("u:hi"))) == "u:hi"


@pytest.mark.parametrize(
    ("system", "with_history", "expected"),
    [("", True, "s:S u:x a:y u:p"), ("T", True, "s:T u:x a:y u:p"), ("", False, "s:S u:p")],
)
def test_generate_messages(system: str, with_history: bool, expected: str) -> None:
    model = package(system="S", history="u:x a:y")
    made = generate_messages(model, Message("user", "p"), system, with_history=with_history)
    assert shape(made) == expected


@pytest.mark.parametrize(
    ("before", "prompt", "bos", "text"),
    [
        ("<s>a", "<s>b", "<s>", "<s>ab"),
        ("<s>a", "b", "<s>", "<s>ab"),
        ("a", "<s>b", "<s>", "a<s>b"),
        ("<|im_start|>a", "<|im_start|>b", "", "<|im_start|>a<|im_start|>b"),
    ],
)
def test_an_earlier_context_opens_the_text_once(before: str, prompt: str, bos: str, text: str) -> None:
    assert go_on(before, prompt, bos) == text


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ("<think>\nhm\n</think>\n\nYes.", "Yes."),
        ("  <think>hm</think> Yes. ", "Yes."),
        ("<think>never closed", ""),
        ("Yes. <think>hm</think>", "Yes. <think>hm</think>"),
    ],
)
def test_families_that_forget_their_thinking(content: str, left: str) -> None:
    asked = (Message("user", "a"), Message("assistant", content), Message("user", "b"))
    for model in (package(family="qwen3"), package(name="deepseek-r1:8b")):
        assert merge_messages(model, asked)[1].content == left
    assert merge_messages(package(), asked)[1].content == content


def test_answers_after_the_last_question_keep_their_thinking() -> None:
    asked = (Message("user", "a"), Message("assistant", "<think>hm</think>x"))
    assert forget_thinking(asked) == asked
