"""From a constraint to the grammar that llguidance compiles, within bounds. Pure, but for llguidance itself.

llguidance is imported when the first constraint comes: most workers never need its 25 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from runtime.errors import BadOptions
from runtime.gbnf import plain_gbnf
from runtime.json_schemas import read_schema
from runtime.options import Constraint

MOST_GRAMMAR_BYTES = 256 << 10
MOST_CHOICES = 10_000
# Between JSON's parts: enough for indented output, but not the endless blanks in which small models get lost.
JSON_BLANKS = r"[\x20\x0A\x0D\x09]{0,20}"
# One or two kilobytes each. A regex that needs more is ended with an error instead of eating the machine.
MOST_LEXER_STATES = 50_000
_MESSAGE_CHARS = 300
_LAST_ANCHOR = re.compile(r"(?<!\\)((?:\\\\)*)\$\Z")


def compile_grammar(tokenizer: Any, constraint: Constraint) -> Any:
    """An llguidance.LLMatcher at its start. BadOptions says what in the constraint cannot be honoured."""
    from llguidance import LLMatcher, LLParserLimits

    limits = LLParserLimits(max_lexer_states=MOST_LEXER_STATES, verbose_errors=False)
    matcher = LLMatcher(tokenizer, grammar_of(constraint), log_level=0, limits=limits)
    if matcher.is_error():
        raise BadOptions(_refusal(constraint, matcher.get_error()))
    return matcher


def grammar_of(constraint: Constraint) -> str:
    """The constraint in llguidance's own form; BadOptions where it is not even well-formed."""
    if len(constraint.source.encode("utf-8", "replace")) > MOST_GRAMMAR_BYTES:
        most = f"{MOST_GRAMMAR_BYTES >> 10} KiB"
        raise BadOptions(f"invalid {_NAMES[constraint.kind]}: it is larger than {most}")
    try:
        return _FORMS[constraint.kind](constraint.source)
    except RecursionError:
        raise BadOptions(f"invalid {_NAMES[constraint.kind]}: it is nested too deeply") from None
    except (ValueError, BadOptions) as problem:
        raise BadOptions(_refusal(constraint, str(problem))) from problem


def _json_schema(schema: dict[str, Any]) -> str:
    from llguidance import LLMatcher

    # oneOf becomes anyOf: two branches that overlap still describe the same texts.
    options: Any = {"whitespace_pattern": JSON_BLANKS, "coerce_one_of": True}
    return str(LLMatcher.grammar_from_json_schema(json.dumps(schema), defaults=options))


def _gbnf(source: str) -> str:
    from llguidance import grammar_from

    return str(grammar_from("gbnf", plain_gbnf(source)))


def _regex(source: str) -> str:
    r"""A search in most languages; here the whole answer must match, so anchors at both ends add nothing.

    ``\d``, ``\w`` and ``\s`` mean ASCII, which every reader of the answer agrees to.
    """
    from llguidance import regex_to_lark

    inside = _LAST_ANCHOR.sub(r"\1", source.removeprefix("^"))
    return _lark(f"start: /{regex_to_lark(inside, 'dws')}/")


def _lark(source: str) -> str:
    from llguidance import LLMatcher

    return str(LLMatcher.grammar_from_lark(source))


def _choice(source: str) -> str:
    choices = json.loads(source)
    if not isinstance(choices, list) or not choices or not all(isinstance(item, str) for item in choices):
        raise BadOptions("a list of one or more strings is needed")
    if len(choices) > MOST_CHOICES:
        raise BadOptions(f"{len(choices)} choices are more than {MOST_CHOICES}")
    if not all(choices):
        raise BadOptions("an empty text cannot be chosen")
    return _lark("start: " + " | ".join(json.dumps(item, ensure_ascii=False) for item in choices))


_FORMS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "json": lambda source: _json_schema({"type": "object"}),
        "json_schema": lambda source: _json_schema(read_schema(source)),
        "grammar": _gbnf,
        "regex": _regex,
        "choice": _choice,
        "lark": _lark,
    }
)
_NAMES = {
    "json": "format", "json_schema": "format", "grammar": "grammar", "regex": "regex", "choice": "choice",
    "lark": "grammar",
}  # fmt: skip
_UNKNOWN_KEYS = re.compile(r"Unimplemented keys: \[(.*)\]")
_REGEX_ERROR = re.compile(r"regex parse error:\n    (.*)\n(?:.*\n)*?error: (.*)")


def _refusal(constraint: Constraint, problem: str) -> str:
    """What is wrong, in one line; llguidance shows positions over several."""
    kind = _NAMES[constraint.kind]
    keys = _UNKNOWN_KEYS.search(problem)
    regex = _REGEX_ERROR.search(problem)
    if keys:
        text = f"the keyword {keys[1].replace(chr(34), '')} of JSON Schema is not supported; leave it out"
    elif regex:
        pattern = "pattern " if kind == "format" else ""
        text = f"{pattern}{json.dumps(regex[1][:_MESSAGE_CHARS])}: {regex[2]}"
    else:
        lines = [line.strip() for line in problem.splitlines() if line.strip()]
        text = lines[0] if lines else "it cannot be compiled"
        text = text.removeprefix("Failed to convert the grammar from GBNF to Lark: ")
    return f"invalid {kind}: {text[: _MESSAGE_CHARS + 100]}"
