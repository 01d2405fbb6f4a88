"""Calls in Python's notation: a list as the whole reply, or between marks, or one call a line."""

from collections.abc import Callable

from modelfiles.replies.buffered import Found, style
from modelfiles.replies.cursor import Cut, More, Unended
from modelfiles.replies.literals import BadLiteral, LiteralReader, Unfinished

_LLAMA = ("<|python_start|>", "<|python_end|>")
_LFM = ("<|tool_call_start|>", "<|tool_call_end|>")
_OLMO = ("<function_calls>", "</function_calls>")
_ENDS = ("<|eom_id|>", "<|eot_id|>", "<|eot|>", "<|im_end|>")

# Name, arguments, and where the call begins and ends.
Calls = list[tuple[str, dict[str, object], int, int]]


def _read(found: Found, parse: Callable[[LiteralReader], Calls]) -> Calls:
    """What `parse` reads at the cursor. Raises More, Unended and Cut."""
    cursor = found.cursor
    reader = LiteralReader(cursor.text, cursor.at)
    try:
        calls = parse(reader)
    except Unfinished as error:
        raise (Unended(str(error)) if cursor.final else More) from error
    except BadLiteral as error:
        raise Cut(str(error)) from error
    cursor.at = reader.at
    return calls


def _one(reader: LiteralReader) -> Calls:
    reader.peek()
    start = reader.at
    name, arguments = reader.call()
    return [(name, arguments, start, reader.at)]


def _list(reader: LiteralReader) -> Calls:
    """`[a(), b()]`, with at least one call."""
    if not reader.take("["):
        raise BadLiteral("no list")
    calls: Calls = []
    while not (calls and reader.take("]")):
        calls += _one(reader)
        if not reader.take(",") and reader.peek() != "]":
            raise BadLiteral("no comma between calls")
    return calls


def _settle(found: Found, calls: Calls) -> None:
    end = found.cursor.at
    for name, arguments, start, stop in calls:
        found.begun, found.cursor.at = start, stop
        found.call(name, arguments)
    found.cursor.at = end


def _whole(found: Found) -> None:
    """The reply is one list of calls of declared tools, and nothing else."""
    cursor = found.cursor
    cursor.take(_LLAMA[0])
    cursor.space()
    try:
        calls = _read(found, _list)
        cursor.space()
        while not cursor.ended and cursor.take_end(_LLAMA[1], *_ENDS):
            cursor.space()
        if not cursor.ended:
            raise Cut("text follows the list")
        unknown = [name for name, *_ in calls if found.tools.find(name) is None]
        if unknown:
            raise Cut(f"no tool of the name {unknown[0]!r}")
    except Cut:
        cursor.at = 0
        raise
    _settle(found, calls)


def _lfm(found: Found) -> None:
    """A list between marks; the marks and the list may come twice. Without marks, it is the whole reply."""
    cursor = found.cursor
    if cursor.take(_LFM[0]) is None:
        _whole(found)
        return
    cursor.space()
    start = cursor.at
    calls = _read(found, _list)
    written = cursor.text[start : cursor.at]
    cursor.space()
    if cursor.take_end(_LFM[1]):
        _over_echo(found, written)
    _settle(found, calls)


def _over_echo(found: Found, written: str) -> None:
    """Some models write the list once more behind its end, or the end."""
    cursor = found.cursor
    before = cursor.at
    cursor.space()
    if cursor.take(written, _LFM[1]) is None:
        cursor.at = before
        return
    before = cursor.at
    cursor.space()
    if cursor.take(_LFM[1]) is None:
        cursor.at = before


def _olmo(found: Found) -> None:
    """One call a line."""
    cursor = found.cursor
    cursor.take(_OLMO[0])
    while True:
        cursor.space()
        if cursor.take_end(_OLMO[1]):
            return
        found.begin()
        try:
            [(name, arguments, *_)] = _read(found, _one)
        except Cut as cut:
            if not found.calls:
                raise
            end = cursor.find("\n", _OLMO[1])
            cursor.at = end if end >= 0 else len(cursor.text)
            found.fail(str(cut))
            continue
        found.call(name, arguments)
        cursor.space()
        cursor.take(",")


STYLES = (
    style("pythonic", (), _whole, (), starts=("[",)),
    style("llama4_pythonic", (), _whole, (), starts=("[", _LLAMA[0])),
    style("lfm2", (_LFM[0],), _lfm, (_LFM[1],), starts=("[",)),
    style("olmo3", (_OLMO[0],), _olmo, (_OLMO[1],)),
)
