"""Filters that differ from Jinja's own, against what model templates rely on."""

import pytest
from jinja2 import Template

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import Budget
from modelfiles.templates.sandbox import PromptEnvironment


def evaluate(expression: str, **variables: object) -> str:
    environment = PromptEnvironment()
    code = environment.compile_source("{{ " + expression + " }}")
    paying = environment.for_rendering(Budget(100_000))
    return Template.from_code(paying, code, dict(paying.globals)).render(variables)


VALUE = {"name": "Zoë <b>", "list": [1, 2.5, None, True], "empty": {}}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("v|tojson", '{"name": "Zoë <b>", "list": [1, 2.5, null, true], "empty": {}}'),
        (
            "v|tojson(ensure_ascii=true)",
            '{"name": "Zo\\u00eb <b>", "list": [1, 2.5, null, true], "empty": {}}',
        ),
        ("v.list|tojson(indent=2)", "[\n  1,\n  2.5,\n  null,\n  true\n]"),
        ("v|tojson(separators=(',', ':'))", '{"name":"Zoë <b>","list":[1,2.5,null,true],"empty":{}}'),
        ("{'b': 1, 'a': 2}|tojson(sort_keys=true)", '{"a": 2, "b": 1}'),
        ("missing|tojson", "null"),
        ("v.list|map('string')|tojson", '["1", "2.5", "None", "True"]'),
        ("v.keys()|tojson", '["name", "list", "empty"]'),
        ("'{\"a\": [1]}'|from_json|tojson", '{"a": [1]}'),
        ("v.name|safe + '&'", "Zoë <b>&"),
        ("v.name|e + '&'", "Zoë &lt;b&gt;&"),
        ("'a\nb\n\nc'|indent", "a\n    b\n\n    c"),
        ("'a\nb\n\nc'|indent(2, first=true, blank=true)", "  a\n  b\n  \n  c"),
        ("'a\nb'|indent('> ', true)", "> a\n> b"),
        ("''|indent", ""),
        ("'  x '|trim ~ 'xxyxx'|trim('x')", "xy"),
        ("'aXbX'|replace('X', '-') ~ 'aXbX'|replace('X', '', 1)", "a-b-abX"),
        ("[1, none, 'a']|join(', ')", "1, None, a"),
        ("[{'n': 1}, {'n': 2}]|join('+', attribute='n')", "1+2"),
        ("none|join(',')", ""),
        ("'%s/%s'|format(1, 'b') ~ '%(x)s'|format(x=3)", "1/b3"),
        ("[3, 1, 2]|sort|first ~ [3, 1]|last ~ [1, 1, 2]|unique|list|length", "112"),
        ("[1, 2.5]|sum ~ ' ' ~ [{'n': 1}, {'n': 2}]|sum(attribute='n', start=3)", "3.5 6"),
        ("2.567|round(1)", "2.6"),
        ("'ab'|center(6) ~ '|'", "  ab  |"),
        ("5|string ~ none|string", "5None"),
    ],
)
def test_filters(expression: str, expected: str) -> None:
    assert evaluate(expression, v=VALUE) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "range|tojson",
        "[[1]]|sum(start=[])",
        "v|tojson(indent=65)",
        "v|tojson(indent=-1)",
        "v|tojson(indent='----')",
    ],
)
def test_what_has_no_json(expression: str) -> None:
    with pytest.raises((TypeError, TemplateError)):
        evaluate(expression, v=VALUE)
