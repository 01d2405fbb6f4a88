"""`[TOOL_CALLS]`: a list of calls, or a name and its arguments, in three generations of Mistral's models.

Told apart by what follows the mark. A list without the mark counts only as the whole reply.
"""

from modelfiles.replies.buffered import Found, style
from modelfiles.replies.cursor import Cut
from modelfiles.replies.json_calls import NoCall, calls_in
from modelfiles.replies.toolcalls.bare_json import read_whole
from modelfiles.replies.toolcalls.named_json import name_before, take_arguments

_OPEN, _CLOSE = "[TOOL_CALLS]", "[/TOOL_CALLS]"
_ID, _ARGUMENTS = "[CALL_ID]", "[ARGS]"


def _read(found: Found) -> None:
    cursor = found.cursor
    if cursor.take(_OPEN) is None:
        read_whole(found)
        return
    cursor.space()
    if cursor.next() in ("[", "{") and cursor.sees((_ID, _ARGUMENTS, _OPEN)) is None:
        _list(found)
    else:
        _named(found)


def _list(found: Found) -> None:
    cursor = found.cursor
    written = cursor.json()
    try:
        found.calls += calls_in(written, found.tools)
    except NoCall as error:
        found.reason = str(error)
    before = cursor.at
    cursor.space()
    if not cursor.take_end(_CLOSE):
        cursor.at = before


def _named(found: Found) -> None:
    cursor = found.cursor
    cursor.at = len(_OPEN)
    head = _head(found)
    name, _, call_id = head.partition(_ID)
    if not name.strip():
        raise Cut("no name follows the mark")
    cursor.space()
    arguments = take_arguments(found)
    if arguments is None:
        found.fail("arguments that are no object")
    else:
        found.call(name, arguments, call_id.strip() or None)


def _head(found: Found) -> str:
    """Up to `[ARGS]`, which may have been lost, so that the JSON follows at once."""
    cursor = found.cursor
    start = cursor.at
    name_before(found, (_ARGUMENTS, "{"))
    if cursor.text.startswith(_ARGUMENTS, cursor.at - len(_ARGUMENTS)):
        return cursor.text[start : cursor.at - len(_ARGUMENTS)]
    cursor.at -= 1
    return cursor.text[start : cursor.at]


STYLE = style("mistral", (_OPEN,), _read, ("]", "}"), starts=("[",))
