"""Names of Ollama's renderers and parsers."""

import pytest

from modelfiles.replies.builtin import PARSERS, RENDERERS, builtin_parser, is_renderer
from modelfiles.replies.choice import choose_style, choose_tags
from modelfiles.replies.toolcalls import STYLES
from modelfiles.templates.tags import THINK

HERMES = "<tool_call>{{ call }}</tool_call><think></think>"


def test_spelling_does_not_matter() -> None:
    assert builtin_parser("QWEN3_5") is builtin_parser("qwen3.5") is PARSERS["qwen3.5"]
    assert builtin_parser("nobody") is builtin_parser("") is None
    assert all(map(is_renderer, RENDERERS))
    assert is_renderer("GLM-4_7")
    assert not is_renderer("glm-4.8")


@pytest.mark.parametrize(
    ("name", "style", "tags"),
    [
        ("qwen3", "hermes", THINK),
        ("qwen3.5", "qwen3_coder", THINK),
        ("nemotron-3-nano", "qwen3_coder", THINK),
        ("passthrough", None, None),
        ("nobody", "hermes", THINK),
        ("", "hermes", THINK),
    ],
)
def test_replies(name: str, style: str | None, tags: object) -> None:
    assert choose_style(None, HERMES, builtin=name) is (STYLES[style] if style else None)
    assert choose_tags(None, HERMES, builtin=name) == tags


@pytest.mark.parametrize("name", sorted(name for name, parser in PARSERS.items() if not parser.plain))
def test_a_family_without_a_reader_of_calls_is_read_as_its_template_shows(name: str) -> None:
    parser = PARSERS[name]
    known = choose_style(parser.style, "") if parser.style else None
    assert choose_style(None, HERMES, builtin=name) == (known or STYLES["hermes"])


def test_a_setting_of_the_user_wins() -> None:
    assert choose_style("none", HERMES, builtin="qwen3.5") is None
    assert choose_style("hermes", "", builtin="qwen3.5") is STYLES["hermes"]
    assert choose_tags("none", HERMES, builtin="qwen3.5") is None
    assert choose_tags(None, None, builtin="qwen3.5") == THINK
