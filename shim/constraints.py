"""What a request's `format` asks of the answer. Whether a schema can be honoured is the engine's to say."""

from __future__ import annotations

from runtime.options import Constraint
from shim.errors import go_quoted, server_error

_OFF = frozenset(("", "null", '""'))


def of_format(raw_json: str, after: str = "", opening: str = "") -> Constraint | None:
    """The constraint that `format`, given as the JSON text of its value, stands for; None for none.

    `after`, `opening`: the tags around the thinking that stays free, see `Constraint`. ApiError as in Ollama.
    """
    text = raw_json.strip(" \t\r\n")
    if text in _OFF:
        return None
    if text == '"json"':
        return Constraint("json", after=after, opening=opening)
    if text.startswith("{"):
        return Constraint("json_schema", text, after, opening)
    raise server_error(f'invalid format: {go_quoted(text)}; expected "json" or a valid JSON Schema object')
