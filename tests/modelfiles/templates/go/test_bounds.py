"""No Go template works for long: each of these is stopped, by an error that says so."""

from __future__ import annotations

from datetime import date

import pytest

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.templates.go import parse_template
from modelfiles.templates.go.template import MAX_SOURCE_CHARACTERS

WIDE = (
    "{{ $m := .Messages }}"
    '{{ $x := printf "%900000s" "é" }}{{ $y := printf "%900000s" "é" }}{{ range 9999999 }}'
)
FUNCTIONS = (
    "len $x", "slice $x 1", "index $x 9", "eq $x $y", "lt $x $y", 'printf "%.1s" $x', "index $ $x", "js $x",
)  # fmt: skip
SOURCES = [
    *(f"{WIDE}{{{{ if {call} }}}}{{{{ end }}}}{{{{ end }}}}" for call in FUNCTIONS),
    "{{ $m := .Messages }}" + "{{ $v := 1 }}" * 9_000 + "{{ range 9999999 }}{{ if $m }}{{ end }}{{ end }}",
    "{{ $m := .Messages }}{{ range 99999 }}{{ if and " + "1 " * 9_000 + "}}{{ end }}{{ end }}",
    '{{ $m := .Messages }}{{ define "a" }}{{ if . }}{{ template "a" (slice . 1) }}{{ end }}{{ end }}'
    '{{ template "a" (printf "%90000d" 1) }}',
    '{{ $m := .Messages }}{{ $x := "<" }}{{ range 64 }}{{ $x = html $x $x }}{{ end }}',
    '{{ $m := .Messages }}{{ range 9999 }}{{ printf "%1000000d" 1 }}{{ end }}',
]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_work_is_counted(source: str) -> None:
    template = parse_template(source)
    with pytest.raises(TemplateError, match="far more work than the messages need"):
        template.render([Message("user", "hi")], today=date(2026, 1, 1))


def test_a_template_is_not_longer_than_any_real_one() -> None:
    parse_template("x" * MAX_SOURCE_CHARACTERS)
    with pytest.raises(TemplateError, match="more than 262144 characters"):
        parse_template("x" * (MAX_SOURCE_CHARACTERS + 1))
