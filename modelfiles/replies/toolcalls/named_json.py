"""A name, a mark, and the arguments as JSON: DeepSeek V3, Kimi K2, Mistral's later models and others.

Where the JSON ends is found by reading it, never by searching for the mark that should follow.
"""

from dataclasses import dataclass

from modelfiles.replies.buffered import Found, Grammar, style
from modelfiles.replies.cursor import Cut
from modelfiles.replies.json_calls import NoCall, arguments_of
from modelfiles.replies.lenient import read_json

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Marks:
    """Of a section with calls in it, which may be missing; of each call; and between name and arguments."""

    call: tuple[str, ...]
    arguments: tuple[str, ...]
    end: tuple[str, ...]
    section: tuple[str, ...] = ()
    section_end: tuple[str, ...] = ()


def arguments_in(text: str) -> dict[str, object]:
    """The arguments that stand alone as JSON. Raises NoCall."""
    try:
        value, supplied = read_json(text)
    except ValueError as error:
        raise NoCall(f"arguments that are no JSON: {error}") from error
    if supplied:
        raise NoCall("arguments that were cut")
    return arguments_of({"arguments": value})


def take_arguments(found: Found) -> dict[str, object] | None:
    """Goes over the JSON at the cursor; None where it is no object. Raises Cut where no JSON stands there."""
    if found.cursor.next() not in ("{", '"', "["):
        raise Cut("no JSON after the name")
    try:
        return arguments_in(found.cursor.json())
    except NoCall as error:
        found.reason = found.reason or str(error)
        return None


def name_before(found: Found, marks: tuple[str, ...]) -> str:
    """The text up to one of `marks`, which is gone over too. Raises Cut where none comes soon."""
    cursor = found.cursor
    end = _soon(found, marks)
    name = cursor.text[cursor.at : end]
    cursor.at = end
    cursor.take(*marks)
    return name


def _soon(found: Found, marks: tuple[str, ...]) -> int:
    cursor = found.cursor
    ends = [at for mark in marks if (at := cursor.text.find(mark, cursor.at)) >= 0]
    end = min(ends, default=-1)
    long = (end if end >= 0 else len(cursor.text)) - cursor.at > _LONGEST_NAME + max(map(len, marks))
    if long or (end < 0 and cursor.final):
        raise Cut("no name follows the mark")
    return end if end >= 0 else cursor.find(*marks)


def _product(*parts: tuple[str, ...]) -> tuple[str, ...]:
    texts: tuple[str, ...] = ("",)
    for part in parts:
        texts = tuple(text + word for text in texts for word in part)
    return texts


# Some conversions of the vocabulary write other bars and blanks.
_BAR, _BLANK = ("｜", "|"), ("▁", " ", "_")


def _deepseek_marks(what: str) -> tuple[str, ...]:
    first, *others = what.split()
    texts = _product(("<",), _BAR, (first,))
    for word in others:
        texts = tuple(text + blank + word for text in texts for blank in _BLANK)
    return _product(texts, _BAR, (">",))


_DEEPSEEK = Marks(
    call=_deepseek_marks("tool call begin"),
    arguments=_deepseek_marks("tool sep"),
    end=_deepseek_marks("tool call end"),
    section=_deepseek_marks("tool calls begin"),
    section_end=_deepseek_marks("tool calls end"),
)
_SECTION = "<|tool_calls_section_{0}|> <|tool_call_section_{0}|>"
_KIMI = Marks(
    call=("<|tool_call_begin|>",),
    arguments=("<|tool_call_argument_begin|>",),
    end=("<|tool_call_end|>",),
    section=tuple(_SECTION.format("begin").split()),
    section_end=tuple(_SECTION.format("end").split()),
)
_SOLAR = Marks(
    call=("<|tool_call:begin|>",),
    arguments=("<|tool_call:args|>",),
    end=("<|tool_call:end|>",),
    section=("<|tool_calls|>",),
    section_end=("<|calls|>",),
)


def _calls(marks: Marks, one: Grammar) -> Grammar:
    """A section of calls, or calls without one. `one` reads a call behind its first mark."""

    def read(found: Found) -> None:
        cursor = found.cursor
        cursor.take(*marks.section)
        while True:
            before = cursor.at
            cursor.space()
            found.begin()
            if (found.calls or found.failed) and cursor.take_end(*marks.section_end):
                return
            if cursor.take(*marks.call) is None:
                cursor.at = before
                return
            one(found)

    return read


def _end(found: Found, marks: Marks) -> None:
    found.cursor.space()
    found.cursor.take_end(*marks.end)


def _settle(
    found: Found, name: str, arguments: dict[str, object] | None, call_id: str | None = None
) -> None:
    if arguments is None:
        found.fail("arguments that are no object")
    else:
        found.call(name, arguments, call_id)


def _deepseek_call(found: Found) -> None:
    """`NAME sep JSON`, or `function sep NAME` and the JSON in a code fence."""
    cursor = found.cursor
    name = name_before(found, _DEEPSEEK.arguments)
    cursor.space()
    if name.strip() == "function" and cursor.next() not in ("{", "`"):
        name = name_before(found, ("\n",))
        cursor.space()
    fenced = cursor.take("```json", "```") is not None
    cursor.space()
    arguments = take_arguments(found)
    cursor.space()
    if fenced:
        cursor.take_end("```")
    _end(found, _DEEPSEEK)
    _settle(found, name, arguments)


def _kimi_call(found: Found) -> None:
    """The id is `functions.NAME:NUMBER`; all but the name may be missing, or the name itself."""
    call_id = name_before(found, _KIMI.arguments).strip()
    found.cursor.space()
    arguments = take_arguments(found)
    _end(found, _KIMI)
    before, colon, number = call_id.rpartition(":")
    name = before if colon and number.isdigit() else call_id
    if found.tools.find(name) is None:
        name = name.removeprefix("functions.") if name.startswith("functions.") else name.rpartition(".")[2]
    if name.isdigit() and arguments is not None:
        name = found.tools.only_with(arguments) or name
    _settle(found, name, arguments, call_id)


def _solar_call(found: Found) -> None:
    """An id, then the name."""
    name_before(found, ("<|tool_call:name|>",))
    name = name_before(found, _SOLAR.arguments)
    found.cursor.space()
    arguments = take_arguments(found)
    _end(found, _SOLAR)
    _settle(found, name, arguments)


_deepseek = _calls(_DEEPSEEK, _deepseek_call)
_DEEPSEEK_MARKERS = (*_DEEPSEEK.section, *_DEEPSEEK.call)
_DEEPSEEK_CLOSERS = (*_DEEPSEEK.section_end, *_DEEPSEEK.end)

STYLES = (
    style("deepseek_v3", _DEEPSEEK_MARKERS, _deepseek, _DEEPSEEK_CLOSERS),
    style("deepseek_v31", _DEEPSEEK_MARKERS, _deepseek, _DEEPSEEK_CLOSERS),
    style(
        "kimi_k2",
        (*_KIMI.section, *_KIMI.call),
        _calls(_KIMI, _kimi_call),
        (*_KIMI.section_end, *_KIMI.end),
    ),
    style(
        "solar_open",
        (*_SOLAR.section, *_SOLAR.call),
        _calls(_SOLAR, _solar_call),
        (*_SOLAR.section_end, *_SOLAR.end),
    ),
)
