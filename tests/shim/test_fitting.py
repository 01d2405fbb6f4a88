"""Shortening to the context. Tokens here are words."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import TemplateError
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import ChatTemplate, Conversation
from shim.fitting import ContextFitter, Rendered, from_message
from tests.shim.test_prompt import messages

NOW = datetime(2026, 11, 30)
BARE = ChatTemplate("{% for m in messages %}{{ m.role[0] }} {{ m.content }} {% endfor %}{{ 'a' }}")
GO = GoPrompt("{{ range .Messages }}{{ slice .Role 0 1 }} {{ .Content }} {{ end }}a")


class Words:
    """Counts words, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.counted = 0

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        self.asked += 1
        self.counted += len(text.split())
        return [0] * len(text.split())


async def fit(text: str, num_ctx: int, template: ChatTemplate | GoPrompt = BARE) -> Rendered:
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


@pytest.mark.parametrize("template", [BARE, GO])
@given(
    st.lists(st.tuples(st.sampled_from("sua"), st.integers(1, 30)), min_size=1, max_size=12),
    st.integers(2, 120),
)
def test_the_longest_that_fits(
    template: ChatTemplate | GoPrompt, drawn: list[tuple[str, int]], num_ctx: int
) -> None:
    asked = tuple(replace(messages(f"{role}:x")[0], content="x " * words) for role, words in drawn)
    conversation = Conversation(asked, NOW)
    found = asyncio.run(ContextFitter(template, conversation, num_ctx, Words()).fit())
    prompts = [
        template.render(replace(conversation, messages=from_message(asked, first)))
        for first in range(len(asked))
    ]
    fitting = (prompt for prompt in prompts if len(prompt.split()) < num_ctx)
    assert found.text == next(fitting, prompts[-1])


async def test_a_long_history_is_not_counted_whole() -> None:
    words = Words()
    conversation = Conversation(messages(" ".join("u:" + "x" * 39 for _ in range(5000))), NOW)
    rendered = await ContextFitter(BARE, conversation, 200, words).fit()
    assert rendered.tokens == 199
    assert words.asked <= 8
    assert words.counted < 6000
