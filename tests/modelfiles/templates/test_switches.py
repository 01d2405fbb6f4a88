"""One setting, every family's variable."""

import pytest

from modelfiles.templates.switches import Thinking, thinking_variables


def test_unset_leaves_everything_to_the_template() -> None:
    assert thinking_variables("reasoning_effort 'no_think'", None) == {}


def test_on_and_off() -> None:
    assert thinking_variables("", True) == {
        "enable_thinking": True,
        "thinking": True,
        "thinking_mode": "enabled",
        "thinking_option": "on",
    }
    assert thinking_variables("", False) == {
        "enable_thinking": False,
        "thinking": False,
        "thinking_mode": "disabled",
        "thinking_option": "off",
        "thinking_budget": 0,
    }


@pytest.mark.parametrize(
    ("source", "thinking", "effort"),
    [
        ("", "low", "low"),
        ("", "max", "high"),
        ("{% if reasoning_effort == 'max' %}", "max", "max"),
        ("{% if reasoning_effort == 'no_think' %}", True, "high"),
        ("{% if reasoning_effort == 'no_think' %}", False, "no_think"),
        ('{% if reasoning_effort == "none" %}', False, "none"),
        ("{% if reasoning_effort == 'medium' %}", False, None),
        ("{% if x == 'none' %}", False, None),
    ],
)
def test_effort_is_a_word_that_the_template_knows(
    source: str, thinking: Thinking, effort: str | None
) -> None:
    variables = thinking_variables(source, thinking)
    assert variables.get("reasoning_effort") == effort
    assert variables.get("thinking_effort") == effort
