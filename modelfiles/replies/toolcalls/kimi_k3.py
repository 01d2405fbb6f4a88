"""`<|open|>` and `<|close|>` with the elements' names behind them: Kimi K3.

An argument says its type itself: a text is taken as it is, anything else is JSON.
"""

import re

from modelfiles.replies.buffered import Found, read_section, style
from modelfiles.replies.cursor import Cut, More, Unended
from modelfiles.replies.json_calls import NoCall
from modelfiles.replies.lenient import read_json
from modelfiles.replies.toolcalls.named_json import arguments_in

_SEPARATOR = "<|sep|>"
_SECTION, _SECTION_END = "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"
_CALL, _CALL_END = "<|open|>call ", "<|close|>call<|sep|>"
_ARGUMENT, _ARGUMENT_END = "<|open|>argument ", "<|close|>argument<|sep|>"
_JSON, _JSON_END = "<|open|>json", "<|close|>json<|sep|>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_LONGEST_TAG = 400


def _read(found: Found) -> None:
    read_section(found, (_SECTION, _SECTION_END), _CALL, _call)


def _call(found: Found) -> None:
    name = _attributes(found).get("tool", "")
    arguments: dict[str, object] = {}
    while True:
        found.cursor.space()
        if found.cursor.take(_ARGUMENT):
            attributes = _attributes(found)
            value = _meant(_up_to(found, _ARGUMENT_END), attributes.get("type", ""))
            arguments.setdefault(attributes.get("key", ""), value)
        elif found.cursor.take(_JSON):
            _attributes(found)
            arguments.update(_object(_up_to(found, _JSON_END)))
        else:
            break
    if not found.cursor.take_end(_CALL_END):
        raise Cut("text between the arguments")
    found.call(name, arguments)


def _attributes(found: Found) -> dict[str, str]:
    cursor = found.cursor
    end = cursor.text.find(_SEPARATOR, cursor.at)
    if (end if end >= 0 else len(cursor.text)) - cursor.at > _LONGEST_TAG:
        raise Cut("a tag that is too long")
    if end < 0:
        raise Unended("a tag does not end") if cursor.final else More
    written = cursor.text[cursor.at : end]
    cursor.at = end + len(_SEPARATOR)
    return dict(_ATTRIBUTE.findall(written))


def _up_to(found: Found, mark: str) -> str:
    cursor = found.cursor
    end = cursor.find(mark)
    if end < 0:
        raise Unended("an argument does not end")
    written = cursor.text[cursor.at : end]
    cursor.at = end + len(mark)
    return written


def _meant(text: str, type_name: str) -> object:
    if type_name == "string":
        return text
    try:
        value, supplied = read_json(text)
    except ValueError:
        return text
    return text if supplied else value


def _object(text: str) -> dict[str, object]:
    try:
        return arguments_in(text)
    except NoCall as error:
        raise Cut(str(error)) from error


STYLE = style("kimi_k3", (_SECTION, _CALL), _read, (_SECTION_END, _CALL_END))
