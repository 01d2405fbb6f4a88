"""Constraints of every kind, compiled: what they allow, what is refused and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.errors import BadOptions
from runtime.matching import Grant
from runtime.options import Constraint
from tests.runtime.vocabularies import Walk


def schema(value: Any) -> Constraint:
    return Constraint("json_schema", json.dumps(value))


def accepts(constraint: Constraint, text: str) -> bool:
    """Whether the whole text is an answer."""
    walk = Walk(constraint)
    try:
        walk.write(text.encode())
    except AssertionError:
        return False
    return walk.grant is Grant.END or b"<|end|>" in walk.allowed()


STRICT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (
            Constraint("json"),
            ['{"a": [1, {"b": null}]}', "{}", '{\n  "a": "\\n\\"é"\n}'],
            ["[]", "1", '{"a"}'],
        ),
        (schema(STRICT), ['{"a": 1}', '{"a":-20}'], ["{}", '{"a": "1"}', '{"a": 1, "b": 2}', '{"a": 1.5}']),
        (schema({"type": "array", "items": {"enum": ["x", 3, None]}, "minItems": 1, "maxItems": 2}),
         ['["x"]', '[3, null]'], ["[]", '["y"]', '["x","x","x"]']),
        (schema({"type": "array", "maxItems": 0}), ["[]"], ["[1]"]),
        (schema({"anyOf": [{"type": "string", "pattern": "^a+$"}, {"type": "boolean"}]}),
         ['"aa"', "true"], ['"b"', "1"]),
        (schema({"oneOf": [{"type": "number"}, {"type": "integer"}]}), ["1", "1.5"], ['"1"']),
        (schema({"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}},
                 "$ref": "#/$defs/n"}), ['{"next": {"next": {}}}'], ['{"next": 1}']),
        (schema({"const": {"k": [1]}}), ['{"k": [1]}'], ['{"k": [2]}']),
        (schema({"type": "string", "format": "date"}), ['"2024-02-29"'], ['"yesterday"']),
        (schema({"type": "string", "format": "password"}), ['"x"'], ["1"]),
        (schema({"type": "string", "minLength": 2, "maxLength": 3}), ['"ab"'], ['"a"', '"abcd"']),
        (schema({"type": "integer", "minimum": 3, "maximum": 12}), ["3", "12"], ["2", "13"]),
        (Constraint("json_schema", "true"), ["1", "[]"], ["x"]),
        (Constraint("choice", '["red", "caf\\u00e9"]'), ["red", "café"], ["re", "blue"]),
        (Constraint("regex", r"^\d{2}-[a-c]+$"), ["12-abc"], ["12-", "1-a", "x12-a", "٣٣-a"]),
        (Constraint("regex", r"a/b\sc|[\d/]+"), ["a/b c", "1/2"], ["a/b", "٣"]),
        (Constraint("regex", "a\nb|c\t/"), ["a\nb", "c\t/"], ["ab"]),
        (schema({"type": "string", "pattern": r"^\d+$"}), ['"1"'], ['"٣"']),
        (Constraint("regex", r"a\$"), ["a$"], ["a"]),
        (Constraint("grammar", 'root ::= item+ # items\nitem ::= "- " [^\\n]+ "\\n"'), ["- a\n- b\n"], ["a"]),
        (Constraint("grammar", 'root ::= "x"{2,3} ("y" | "z")?'), ["xx", "xxxz"], ["x", "xxxx"]),
        (Constraint("grammar", 'root ::= [\\u00e0-\\u00ef]'), ["é"], ["e"]),
        (Constraint("lark", 'start: "a" /[0-9]/ | "b"'), ["a1", "b"], ["a"]),
    ],
)  # fmt: skip
def test_kinds(constraint: Constraint, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not accepts(constraint, text)] == []
    assert [text for text in bad if accepts(constraint, text)] == []


def test_blanks_come_to_an_end() -> None:
    walk = Walk(Constraint("json")).write(b"{" + b" " * 20)
    assert b" " not in walk.allowed()
    assert b'"' in walk.allowed()


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (schema({"type": "object", "not": {}}), "keyword not of JSON Schema is not supported"),
        (schema({"properties": {"a": {"if": {}, "contains": {}}}}), "keyword .*if"),
        (schema({"type": "strin"}), "strin"),
        (schema({"$ref": "#/$defs/missing"}), "missing"),
        (schema({"$ref": "http://example.com/schema"}), "example.com"),
        (schema({"properties": {"a": {"pattern": "[a"}}}), r"pattern \"\[a\": unclosed"),
        (schema({"pattern": "*a"}), r"pattern \"\*a\": repetition"),
        (schema({"pattern": "(?=a)b"}), r"pattern \"\(\?=a\)b\": look-around"),
        (schema({"type": "object", "required": ["a"], "properties": {"a": False}}), "'a'"),
        (schema({"type": "integer", "minimum": 3, "maximum": 2}), "minimum"),
        (Constraint("json_schema", "{"), "is not JSON"),
        (Constraint("json_schema", "[]"), "has to be an object"),
        (Constraint("regex", "("), "unclosed group"),
        (Constraint("grammar", ""), "root"),
        (Constraint("grammar", "root ::= nosuch"), "nosuch"),
        (Constraint("grammar", "yes or no"), "::="),
        (Constraint("choice", "[]"), "one or more"),
        (Constraint("choice", '["a", 1]'), "one or more strings"),
        (Constraint("choice", '["a", ""]'), "empty"),
        (Constraint("choice", json.dumps([str(n) for n in range(10_001)])), "10001 choices"),
        (Constraint("lark", "start: nosuch"), "nosuch"),
    ],
)
def test_refused(constraint: Constraint, text: str) -> None:
    with pytest.raises(BadOptions, match=text) as caught:
        Walk(constraint)
    assert str(caught.value).startswith("invalid ")
    assert "\n" not in str(caught.value)


HOSTILE = {
    "nested gbnf": Constraint("grammar", "root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000),
    "nested lark": Constraint("lark", "start: " + "(" * 100_000 + '"a"' + ")" * 100_000),
    "nested regex": Constraint("regex", "(" * 100_000 + "a" + ")" * 100_000),
    "nested schema": Constraint("json_schema", '{"items":' * 25_000 + "{}" + "}" * 25_000),
    "large regex": Constraint("regex", "|".join(f"x{n}" for n in range(40_000))),
    "larger": Constraint("regex", "a" * (300 << 10)),
    "combinations": schema(
        {
            "allOf": [
                {"anyOf": [{"properties": {f"{n}{m}": {"type": "null"}}} for m in range(9)]} for n in range(9)
            ]
        }
    ),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_grammars_are_refused_in_time(name: str) -> None:
    with pytest.raises(BadOptions):
        Walk(HOSTILE[name])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("regex", ["(a{1,1000}){1,1000}", "(.*a){30}.{30}b.{30}", "((a{1,99}){1,99}){1,99}"])
def test_hostile_regexes_end_in_a_fault_or_work(regex: str) -> None:
    """Many states come up only while the answer is written: then it ends instead of eating the memory."""
    walk = Walk(Constraint("regex", regex))
    for _ in range(200):
        if b"a" not in walk.allowed():
            break
        walk.take(b"a")
    assert walk.grant in (Grant.MASK, Grant.FAILED, Grant.END)
