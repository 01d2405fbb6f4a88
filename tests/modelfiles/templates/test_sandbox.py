"""The sandbox: what real templates use works, and no template runs without end or reaches outside."""

import pytest
from jinja2 import Template
from jinja2 import TemplateError as JinjaError

from modelfiles.errors import TemplateError
from modelfiles.templates.budget import Budget
from modelfiles.templates.sandbox import MAX_NODES, MAX_SOURCE_CHARACTERS, PromptEnvironment

UNITS = 300_000
# Ours, the sandbox's, and what Python raises for a range or a loader that is not there.
STOPPED = (TemplateError, JinjaError, OverflowError, RecursionError, TypeError)


def render(source: str, **variables: object) -> str:
    environment = PromptEnvironment()
    code = environment.compile_source(source)
    paying = environment.for_rendering(Budget(UNITS))
    return Template.from_code(paying, code, dict(paying.globals)).render(variables)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for i in range(3) %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %}", "0,1,2"),
        (
            "{% set ns = namespace(n=0) %}{% for x in xs %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}",
            "6",
        ),
        ("{% for x in xs %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "1"),
        ("{% for x in xs %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "13"),
        ("{% generation %}{{ text }}{% endgeneration %}", "a<b"),
        ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('a') ~ f(1) }}", "<a><1>"),
        ("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=1;a=2;"),
        ("{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}", "a=2;b=1;"),
        ("{{ xs[1:]|join('-') }}{{ text[::-1] }}", "2-3b<a"),
        ("{% set _ = ys.append(4) %}{{ ys|length }}{{ ys.pop(0) }}", "2y"),
        ("{{ text.split('<')[-1].strip() + ('!' * 3) }}", "b!!!"),
        ("{{ 'no' if missing is defined else 'absent' }}{{ missing }}", "absent"),
        ("{{ 'b' in d and text in 'xa<bx' and 1 in xs and 'z' not in d }}", "True"),
        ("{% for x in tree recursive %}{{ x.n }}{{ loop(x.kids) }}{% endfor %}", "123"),
        ("  {% if true %}\n  a\n  {% endif %}\nb", "  a\nb"),
        ("{% set x %}in {{ text }}{% endset %}{{ x|upper }}", "IN A<B"),
        ("{% call(x) f() %}{{ x }}!{% endcall %}{% macro g() %}{% endmacro %}", None),
        ("{% filter upper %}shout{% endfilter %}", "SHOUT"),
        ("{{ rows|selectattr('role', 'equalto', 'user')|map(attribute='n')|list }}", "[1, 3]"),
        ("{{ {'a': 1, 'b': xs}['b'][0] }}{{ dict(a=5).a }}", "15"),
        ("{{ 'x' is in 'xyz' }}{{ 'q' is in xs }}{{ 2 is eq 2 }}", "TrueFalseTrue"),
        ("{{ '%s of %d' % ('one', 2) }} {{ '{}-{}'.format(1, 2) }} {{ 2 ** 10 }}", "one of 2 1-2 1024"),
    ],
)
def test_what_templates_use(source: str, expected: str | None) -> None:
    variables = {
        "xs": [1, 2, 3],
        "ys": ["y"],
        "text": "a<b",
        "d": {"b": 1, "a": 2},
        "tree": [{"n": 1, "kids": [{"n": 2, "kids": []}]}, {"n": 3, "kids": []}],
        "rows": [{"role": "user", "n": 1}, {"role": "tool", "n": 2}, {"role": "user", "n": 3}],
    }
    if expected is None:
        with pytest.raises(JinjaError, match="undefined"):
            render(source, **variables)
    else:
        assert render(source, **variables) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{{ f(n - 1) }}{{ f(n - 1) }}{% endmacro %}{{ f(200) }}",
        "{{ 'x' * 10 ** 9 }}",
        "{{ [0] * 10 ** 9 }}",
        "{{ 9 ** 99999 }}",
        "{% set ns = namespace(n=9) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s=['x']) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
        "{{ ns.s }}",
        "{% set ns = namespace(s=['x']) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
        "{{ ns.s|tojson|length }}",
        "{% set a = namespace(s=['x'], t=['x']) %}{% for i in range(60) %}{% set a.s = [a.s, a.s] %}"
        "{% set a.t = [a.t, a.t] %}{% endfor %}{{ a.s == a.t }}",
        "{{ big|replace('', big) }}",
        "{{ big.replace('', big) }}",
        "{{ big.join(range(9999)|list) }}",
        "{{ range(9999)|join(big) }}",
        "{{ 'x'.ljust(10 ** 9) }}",
        "{{ 'x'|center(10 ** 9) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ '{:{}}'.format(1, 1000000000) }}",
        "{{ '%1000000000d'|format(1) }}",
        "{{ big|tojson(indent=10 ** 9) }}",
        "{{ big|indent(10 ** 9, blank=true, first=true)}}{% for i in range(99) %}{{ big|upper }}{% endfor %}",
        "{{ '\t'.expandtabs(10 ** 9) }}",
        "{{ 1|round(10 ** 9) }}",
        "{% for i in range(9999) %}{{ big[1:] }}{% endfor %}",
        "{% for i in range(9999) %}{{ 'z' in big }}{% endfor %}",
        "{% for i in range(9999) %}{% if big == big ~ '' %}{% endif %}{% endfor %}",
        "{% for i in range(9999) %}" + "literal text" * 30 + "{% endfor %}",
        "{% set x %}{% for i in range(9999) %}" + "literal text" * 30 + "{% endfor %}{% endset %}",
        "{% for i in range(9999) %}{{ 'literal text' }}{{ 'more of it, and more' }}{% endfor %}",
        "{% for x in tree recursive %}{{ loop(tree) }}{% endfor %}",
        "{{ range(10 ** 9) }}",
        "{% for c in big %}{% for d in big %}{% endfor %}{% endfor %}",
        "{{ {('a', 'b'): 1} }}",
        "{{ dict([(('a', 'b'), 1)]) }}",
        "{{ ''.__class__.__mro__ }}{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ big.encode('utf-16') }}",
        "{{ (5).to_bytes(1000000000, 'big') }}",
        "{{ {}.fromkeys(range(9999)) }}",
        "{{ messages.clear() }}{{ lipsum(n=10 ** 9) }}",
        "{{ xs|random }}{{ xs|pprint }}",
        "{% include 'other' %}",
        "{% for i in range(9999) %}{{ big.split('x')|length }}{% endfor %}",
        "{{ big.strip(big) }}{{ big|trim(big) }}",
        # Bodies and arguments that are long themselves
        "{% for i in range(9999) %}" + "{% set a = i %}" * 100 + "{% endfor %}",
        "{% macro m() %}" + "{% set a = 1 %}" * 500 + "{% endmacro %}{% for i in range(999) %}"
        "{% set _ = m() %}{% endfor %}",
        "{% block b %}" + "{% set a = 1 %}" * 500 + "{% endblock %}{% for i in range(999) %}"
        "{% set _ = self.b() %}{% endfor %}",
        "{% for i in range(9999) %}{% if [" + "i," * 100 + "] %}{% endif %}{% endfor %}",
        "{% macro m() %}{{ varargs|length }}{% endmacro %}{% for i in range(99) %}{{ m(*big) }}{% endfor %}",
        "{% set ns = namespace(d={}) %}{% for i in range(9999) %}{% set ns.d = dict(ns.d, **{'k' ~ i: 1}) %}"
        "{% endfor %}",
        # Numbers
        "{% set x = 2 ** 16000 %}",
        "{{ 0x" + "f" * 300 + " }}",
        "{{ big|replace('x', 'f')|int(base=16) }}",
        # Looking for what is not there
        "{% for i in range(999) %}{% if 'a' in range(9999) %}{% endif %}{% endfor %}",
        "{% for i in range(9999) %}{% if 'a' in wide.values() %}{% endif %}{% endfor %}",
        "{% for i in range(9999) %}{% if big.startswith(big ~ 'x') %}{% endif %}{% endfor %}",
        # Keys that take for ever to hash
        *(
            "{% set ns = namespace(x=(1,)) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}"
            "{% endfor %}{{ " + use + " }}"
            for use in (
                "ns.x in wide",
                "wide[ns.x]",
                "wide.get(ns.x)",
                "dict([(ns.x, 1)])",
                "[ns.x]|unique|list",
            )
        ),
        # Blanks
        "{% set ns = namespace(x=range(999)|list) %}{% for i in range(99) %}{% set ns.x = [ns.x] %}"
        "{% endfor %}{{ ns.x|tojson(indent=64)|length }}",
        "{% set l = big|list %}{% for i in range(9999) %}{% set _ = l.append(l.pop(0)) %}{% endfor %}",
    ],
)
def test_no_template_gets_far(source: str) -> None:
    with pytest.raises(STOPPED):
        render(source, big="x" * 10_000, xs=[1], tree=[1, 2], messages=[], wide=dict.fromkeys(range(99)))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}", "in line 2"),
        ("{% for x in xs %}", "cannot be read"),
        ("\n\n{{ x|frobnicate }}", "in line 3: No filter named"),
        ("{% frobnicate %}", "unknown tag 'frobnicate'"),
        ("{% for x in xs %}" * 30 + "{% endfor %}" * 30, "nested too deeply"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nested too deeply"),
        ("x" * (MAX_SOURCE_CHARACTERS + 1), "more than"),
        ("{{ a }}" * MAX_NODES, "parts"),
        ("{% macro m() %}{% endmacro %}" * (MAX_NODES // 4), "parts"),
        ("{{ " + "9" * 2000 + " }}", "numbers that large"),
        ("{{ '" + "x" * 1000 + "' * 1000000 }}", None),
    ],
)
def test_broken_source_is_told_when_it_is_compiled(source: str, message: str | None) -> None:
    if message is None:
        PromptEnvironment().compile_source(source)
        return
    with pytest.raises(TemplateError, match=message):
        PromptEnvironment().compile_source(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% set j = joiner(', ') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}", "1, 2"),
        ("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}", "aba"),
        ("{{ '12'|int + '0x1f'|int(base=16) + 'x'|int(7) }}", "50"),
        ("{{ ('a', 1) in [('a', 1)] }}{{ 2 in d.values() }}{{ 3 in range(4) }}", "TrueTrueTrue"),
        ("{{ dict([('a', 1)], b=2)|tojson(indent=2) }}", '{\n  "a": 1,\n  "b": 2\n}'),
        ("{% block b %}x{% endblock %}{{ self.b() }}", "xx"),
    ],
)
def test_rarer_things_that_templates_use(source: str, expected: str) -> None:
    assert render(source, xs=[1, 2], d={"a": 2}) == expected


def test_renderings_do_not_share_a_budget() -> None:
    environment = PromptEnvironment()
    code = environment.compile_source("{{ 'x' * 100 }}")
    for _ in range(5):
        paying = environment.for_rendering(Budget(400))
        assert len(Template.from_code(paying, code, {}).render()) == 100
