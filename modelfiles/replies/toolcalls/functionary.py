"""`<function=NAME>` around the arguments as JSON: Functionary 3.1; and Inkling's messages to a tool.

Only declared names begin a call, so that prose about the tags stays prose.
"""

import json

from modelfiles.replies.buffered import Found, style
from modelfiles.replies.cursor import Cut
from modelfiles.replies.json_calls import NoCall, calls_in
from modelfiles.replies.toolcalls.named_json import name_before, take_arguments

FUNCTION = "<function="
_FUNCTION_END = "</function>"
_MESSAGE, _INVOKE, _MESSAGE_END = "<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"


def read_function(found: Found) -> None:
    """One call."""
    cursor = found.cursor
    cursor.take(FUNCTION)
    where = cursor.at
    name = name_before(found, (">",))
    if found.tools.find(name) is None:
        cursor.at = where
        raise Cut(f"no tool of the name {name.strip()!r}")
    cursor.space()
    arguments = take_arguments(found)
    cursor.space()
    cursor.take_end(_FUNCTION_END)
    if arguments is None:
        found.fail("arguments that are no object")
    else:
        found.call(name, arguments)


def _inkling(found: Found) -> None:
    """The name stands before the JSON and in it, and must be the same."""
    cursor = found.cursor
    cursor.take(_MESSAGE)
    where = cursor.at
    name = name_before(found, (_INVOKE,))
    cursor.space()
    if cursor.next() != "{":
        cursor.at = where
        raise Cut("no JSON follows the mark")
    written = cursor.json()
    cursor.space()
    cursor.take_end(_MESSAGE_END)
    try:
        calls = calls_in(written, found.tools)
    except NoCall as error:
        found.fail(str(error))
        return
    if [call.name for call in calls] != [found.tools.find(name)]:
        found.fail(f"a call of another tool than {json.dumps(name)}")
    else:
        found.calls += calls


STYLES = (
    style("functionary_v3_1", (FUNCTION,), read_function, (_FUNCTION_END,)),
    style("inkling", (_MESSAGE,), _inkling, (_MESSAGE_END,)),
)
