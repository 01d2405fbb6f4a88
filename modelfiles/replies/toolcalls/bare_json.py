"""Calls as bare JSON, which must be the whole reply: Llama 3 and 4, xLAM, Phi 4 mini, Granite 3.

JSON inside prose is prose, and a JSON answer of another shape is an answer.
"""

import re
from collections.abc import Mapping

from modelfiles.messages import ToolCall
from modelfiles.replies.buffered import Found, Grammar, style
from modelfiles.replies.cursor import Cursor, Cut, More, Unended
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall, calls_in
from modelfiles.replies.lenient import read_json
from modelfiles.replies.literals import BadLiteral, LiteralReader, Unfinished
from modelfiles.replies.toolcalls.functionary import FUNCTION, read_function

_PYTHON_TAG = "<|python_tag|>"
_ENDS = ("<|eom_id|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|im_end|>")
_FIRST_KEY = re.compile(r"[\[\s]*\{\s*[\"'](\w*)[\"']\s*:")
_CALL_KEYS = frozenset(
    ("name", "type", "function", "parameters", "arguments", "args", "input", "id", "tool_call_id")
)
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_BUILT_IN = re.compile(r"[^\W\d]\w*\.call\s*\(")
_BUILT_IN_BEGUN = re.compile(r"(?:[^\W\d]\w*)?(?:\.c?a?l?l?\s*)?")


def read_whole(
    found: Found, *, begins: str = "[", needs_arguments: bool = False, suffixes: tuple[str, ...] = ()
) -> None:
    """Calls from here to the end of the reply. Raises Cut as soon as this is something else.

    `begins`: with which characters values may; `suffixes`: what may stand behind them;
    `needs_arguments`: none may leave them out.
    """
    cursor = found.cursor
    calls: list[ToolCall] = []
    while True:
        cursor.space()
        if calls:
            _over(cursor, suffixes)
            if cursor.ended:
                break
        calls += _value(found, begins, needs_arguments=needs_arguments)
    found.calls += calls


def _over(cursor: Cursor, suffixes: tuple[str, ...]) -> None:
    """White space, separators, and marks at the end."""
    while not (cursor.at == len(cursor.text) and cursor.final):
        before = cursor.at
        cursor.take_end(";", ",", *suffixes, *_ENDS)
        cursor.space()
        if cursor.at == before:
            return


def _value(found: Found, begins: str, *, needs_arguments: bool) -> list[ToolCall]:
    cursor = found.cursor
    key = _FIRST_KEY.match(cursor.text, cursor.at)
    if cursor.next() not in tuple(begins) or (key and key[1] not in _CALL_KEYS):
        raise _no_call(found, "the reply is more than calls")
    try:
        return _calls(cursor.json(), found.tools, needs_arguments=needs_arguments)
    except NoCall as error:
        raise _no_call(found, str(error)) from error


def _no_call(found: Found, reason: str) -> Cut:
    found.cursor.at = 0
    return Cut(reason)


def _calls(text: str, tools: DeclaredTools, *, needs_arguments: bool) -> list[ToolCall]:
    calls = calls_in(text, tools)
    if not calls:
        raise NoCall("an empty list")
    value, _ = read_json(text)
    for item in value if isinstance(value, list) else [value]:
        inner = item.get("function")
        keys = inner if isinstance(inner, Mapping) else item
        if needs_arguments and not any(key in keys for key in _ARGUMENT_KEYS):
            raise NoCall("an object without arguments")
    return calls


def _llama(found: Found) -> None:
    """Small models write Functionary's tags."""
    cursor = found.cursor
    if cursor.sees((FUNCTION,)):
        read_function(found)
        return
    tagged = cursor.take(_PYTHON_TAG) is not None
    cursor.space()
    if tagged and cursor.next() != "{":
        _built_in(found)
    else:
        read_whole(found, begins="{", needs_arguments=True)


def _built_in(found: Found) -> None:
    """A tool that Llama was trained with, `name.call(key="text")`; else Python code."""
    cursor = found.cursor
    rest = cursor.text[cursor.at :]
    if _BUILT_IN_BEGUN.fullmatch(rest) and not cursor.final:
        raise More
    if not _BUILT_IN.match(rest):
        _code(found)
        return
    reader = LiteralReader(cursor.text, cursor.at)
    try:
        name, arguments = reader.call()
    except Unfinished as error:
        raise (Unended(str(error)) if cursor.final else More) from error
    except BadLiteral as error:
        raise _no_call(found, str(error)) from error
    cursor.at = reader.at
    found.call(name.removesuffix(".call"), arguments)


def _code(found: Found) -> None:
    if found.tools.find("code_interpreter") is None:
        raise _no_call(found, "neither JSON nor a built-in tool follows the mark")
    if not found.cursor.final:
        raise More
    text = found.cursor.text[found.cursor.at :]
    for end in _ENDS:
        text = text.removesuffix(end)
    found.cursor.at = len(found.cursor.text)
    found.call("code_interpreter", {"code": text.strip()})


def _after(prefixes: tuple[str, ...], suffixes: tuple[str, ...]) -> Grammar:
    """A list behind any of `prefixes`, to the end of the reply."""

    def read(found: Found) -> None:
        found.cursor.take(*prefixes)
        read_whole(found, suffixes=suffixes)

    return read


_FENCE = ("```json", "```")
_XLAM = _after((*_FENCE, "[TOOL_CALLS]", "<tool_call>"), ("```", "</tool_call>"))
_GRANITE = ("<|tool_call|>", "<tool_call>")
_LLAMA_STARTS = ("{", _PYTHON_TAG)

STYLES = (
    style("llama3_json", (FUNCTION,), _llama, ("</function>",), starts=_LLAMA_STARTS),
    style("llama4_json", (), _llama, (), starts=_LLAMA_STARTS),
    style("xlam", (), _XLAM, (), starts=("[", "```", "<tool_call>")),
    style("phi4_mini_json", (), _after(("functools",), ()), (), starts=("functools[",)),
    style("granite", (), _after(_GRANITE, ("</tool_call>",)), (), starts=_GRANITE),
)
