"""The templates of a model, and errors in the place of some."""

import pytest

from modelfiles.errors import TemplateError
from modelfiles.templates.choice import JinjaTemplates, Templates, compiled_go, compiled_jinja
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import ChatTemplate

GO = "{{ .Prompt }}{{ .Suffix }}"
JINJA = "{{ messages[0].content }}"


def templates(language: str | None, go: str = GO, jinja: str = JINJA, with_tools: str = "") -> Templates:
    inside = JinjaTemplates(compiled_jinja(jinja), compiled_jinja(with_tools))
    return Templates(language, compiled_go(go), inside)  # type: ignore[arg-type]  # one of the languages


def test_the_language_decides() -> None:
    assert isinstance(templates("go").choose(tools=True), GoPrompt)
    assert isinstance(templates("jinja").choose(tools=True), ChatTemplate)
    assert templates(None).choose(tools=False) is None
    assert Templates().choose(tools=False) is None


def test_requests_with_tools_may_have_a_template_of_their_own() -> None:
    both = templates("jinja", with_tools="tools" + JINJA)
    chosen = [both.choose(tools=tools) for tools in (False, True)]
    assert [template.source for template in chosen if template] == [JINJA, "tools" + JINJA]


def test_broken_ones_are_errors_only_where_they_are_used() -> None:
    with pytest.raises(TemplateError, match="line 1"):
        templates("jinja", jinja="{% if %}").choose(tools=False)
    with pytest.raises(TemplateError, match="template: :1"):
        templates("go", go="{{ if").choose(tools=False)
    assert isinstance(templates("go", jinja="{% if %}").choose(tools=False), GoPrompt)


def test_only_a_go_template_inserts() -> None:
    assert templates("jinja").inserting() is not None
    assert templates("jinja", go="{{ .Prompt }}").inserting() is None
    assert templates("jinja", go="{{ if").inserting() is None
    assert templates("jinja", go="").inserting() is None


@pytest.mark.parametrize("source", [None, "", 7])
def test_what_is_no_template_is_none(source: object) -> None:
    assert compiled_jinja(source) is None
