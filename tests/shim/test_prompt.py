"""Merging Modelfile content, and shortening to the context. Tokens here are words."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from modelfiles.templates.jinja import ChatTemplate, Conversation
from shim.prompt import ContextFitter, Rendered, forget_thinking, generate_messages, go_on, merge_messages

NOW = datetime(2026, 11, 30)
BARE = ChatTemplate("{% for m in messages %}{{ m.role[0] }} {{ m.content }} {% endfor %}{{ 'a' }}")


class Words:
    """Counts words, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        self.asked += 1
        return [0] * len(text.split())


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


async def fit(text: str, num_ctx: int, template: ChatTemplate = BARE) -> Rendered:
    conversation = Conversation(messages(text), NOW)
    return await ContextFitter(template, conversation, num_ctx, Words()).fit()


@pytest.mark.parametrize(
    ("num_ctx", "prompt", "dropped"),
    [
        (100, "s S u 1 a 2 s T u 3 a 4 u 5 a", 0),
        (16, "s S u 1 a 2 s T u 3 a 4 u 5 a", 0),
        (15, "s S a 2 s T u 3 a 4 u 5 a", 1),
        (12, "s S s T u 3 a 4 u 5 a", 2),
        (11, "s S s T a 4 u 5 a", 3),
        (8, "s S s T u 5 a", 4),
        (2, "s S s T u 5 a", 4),
    ],
)
async def test_the_oldest_messages_go_first(num_ctx: int, prompt: str, dropped: int) -> None:
    rendered = await fit("s:S u:1 a:2 s:T u:3 a:4 u:5", num_ctx)
    assert (rendered.text, rendered.dropped) == (prompt, dropped)


async def test_a_single_message_stays_however_long() -> None:
    assert (await fit("u:1", 2)).text == "u 1 a"


async def test_short_prompts_are_not_counted() -> None:
    words = Words()
    fitter = ContextFitter(BARE, Conversation(messages("u:hi"), NOW), 100, words)
    assert (await fitter.fit()).tokens is None
    assert words.asked == 0


async def test_long_conversations_are_not_counted_message_by_message() -> None:
    words = Words()
    conversation = Conversation(messages(" ".join(f"u:{n}" for n in range(1000))), NOW)
    rendered = await ContextFitter(BARE, conversation, 100, words).fit()
    assert rendered.tokens == 99
    assert words.asked <= 14


async def test_whole_drops_nothing() -> None:
    fitter = ContextFitter(BARE, Conversation(messages("u:1 a:2 u:3"), NOW), 3, Words())
    assert (await fitter.whole()).text == "u 1 a 2 u 3 a"


async def test_a_beginning_that_the_template_refuses_counts_as_too_long() -> None:
    picky = ChatTemplate(
        "{% if messages[0].content == '2' %}{{ raise_exception('not so') }}{% endif %}"
        "{% for m in messages %}{{ m.role[0] }} {{ m.content }} {% endfor %}{{ 'a' }}"
    )
    assert (await fit("u:1 a:2 u:3 a:4 u:5", 10, picky)).text == "u 3 a 4 u 5 a"


async def test_what_the_template_refuses_altogether_is_an_error() -> None:
    with pytest.raises(TemplateError, match="never"):
        await fit("u:1", 10, ChatTemplate("{{ raise_exception('never') }}"))
