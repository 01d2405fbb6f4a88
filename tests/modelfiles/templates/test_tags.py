"""Thinking tags from templates and parser names."""

import pytest

from modelfiles.templates.tags import REASONING_PARSERS, THINK, ThinkingTags, opens_thinking, thinking_tags


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        ("{{ '<think>' + m.thinking + '</think>' }}", THINK),
        ("{{ '<think>\\n' }}", None),
        ("{{ content.split('</think>')[-1] }}", THINK),
        ('{{ content.split("</think>")|last }}', THINK),
        ("<seed:think></seed:think> and <think></think>", ThinkingTags("<seed:think>", "</seed:think>")),
        ("[THINK]x[/THINK]", ThinkingTags("[THINK]", "[/THINK]")),
        (
            "{{ '<|channel>thought\\n' ~ x ~ '<channel|>' }}",
            ThinkingTags("<|channel>thought\n", "<channel|>"),
        ),
        ("{{ message.content }}", None),
    ],
)
def test_from_a_template(source: str, tags: ThinkingTags | None) -> None:
    assert thinking_tags(source) == tags


def test_from_a_name() -> None:
    assert REASONING_PARSERS["qwen3"] == REASONING_PARSERS["deepseek_r1"] == THINK
    assert REASONING_PARSERS["mistral"].open == "[THINK]"


@pytest.mark.parametrize(
    ("prompt", "inside"),
    [
        ("a<think>", True),
        ("a<think>\n \n", True),
        ("<think>\n\n</think>\n\n", False),
        ("<think> a", False),
        ("", False),
    ],
)
def test_whether_the_prompt_opens_it(prompt: str, inside: bool) -> None:
    assert opens_thinking(prompt, THINK) is inside


def test_an_opening_tag_that_ends_in_a_newline() -> None:
    assert opens_thinking("x<|channel>thought\n", REASONING_PARSERS["gemma4"])
