"""Types for arguments that a model wrote as plain text, taken from the tool's JSON Schema.

The first type that fits wins, in a fixed order; what fits nothing stays text, never an error.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

Schema = Mapping[str, object]
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NAMES = (
    (re.compile(r"int|uint|long|short|unsigned"), "integer"),
    (re.compile(r"num|float|double"), "number"),
    (re.compile(r"bool|binary"), "boolean"),
    (re.compile(r"dict|struct|object"), "object"),
    (re.compile(r"list|arr|tuple"), "array"),
    (re.compile(r"str|text|varchar|char|enum|date"), "string"),
    (re.compile(r"null|none"), "null"),
)
_MOST_NESTED = 8


class _Unfit(Exception):  # passed between the functions below, never out
    """The text is no value of that type."""


def typed(text: str, schema: Schema | None, root: Schema) -> object:
    """`text` as a value of `schema`; `root` is where its references point into."""
    types = _types(schema or {}, root, _MOST_NESTED)
    if not types or types == {"string"}:
        return text
    if "null" in types and text.strip().lower() in ("null", "none"):
        return None
    for name, read in _READERS:
        if name in types:
            try:
                return read(text.strip(), types)
            except _Unfit:
                continue
    return text


def _types(schema: Schema, root: Schema, nested: int) -> set[str]:
    if nested == 0:
        return set()
    found = {_canonical(name) for name in _listed(schema.get("type")) if isinstance(name, str)}
    for key in ("anyOf", "oneOf", "allOf"):
        for branch in _listed(schema.get(key)):
            if isinstance(branch, Mapping):
                found |= _types(branch, root, nested - 1)
    if not schema.get("type"):
        values = [*_listed(schema.get("enum")), *([schema["const"]] if "const" in schema else [])]
        found |= {_type_of(value) for value in values}
    target = _referenced(schema.get("$ref"), root)
    return found | (_types(target, root, nested - 1) if target is not None else set())


def _listed(value: object) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return value
    return () if value is None else (value,)


def _canonical(name: str) -> str:
    return next((canonical for pattern, canonical in _NAMES if pattern.match(name.lower())), name.lower())


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "string")


def _referenced(reference: object, root: Schema) -> Schema | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    target: object = root
    for part in reference[2:].split("/"):
        target = target.get(part) if isinstance(target, Mapping) else None
    return target if isinstance(target, Mapping) else None


def _boolean(text: str, types: set[str]) -> object:
    word = text.lower()
    if word in ("true", "false"):
        return word == "true"
    if word in ("1", "0") and types <= {"boolean", "null"}:
        return word == "1"
    raise _Unfit


def _integer(text: str, types: set[str]) -> object:
    if not _INTEGER.fullmatch(text):
        raise _Unfit
    return _int(text)


def _number(text: str, types: set[str]) -> object:
    if not _NUMBER.fullmatch(text):
        raise _Unfit
    if _INTEGER.fullmatch(text):
        return _int(text)
    value = float(text)
    if not math.isfinite(value):
        raise _Unfit
    return int(value) if value.is_integer() else value


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        raise _Unfit from None


def _container(kind: type) -> Callable[[str, set[str]], object]:
    def read(text: str, types: set[str]) -> object:
        for parse in (_read_json, _read_literal):
            value = _tried(parse, text)
            if isinstance(value, kind):
                return value
        raise _Unfit

    return read


def _read_json(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _read_literal(text: str) -> Any:
    """A Python literal, as far as JSON has the same."""
    return json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _tried(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_READERS: tuple[tuple[str, Callable[[str, set[str]], object]], ...] = (
    ("boolean", _boolean),
    ("integer", _integer),
    ("number", _number),
    ("array", _container(list)),
    ("object", _container(dict)),
)
