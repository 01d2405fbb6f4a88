"""Which parsers a model's replies need: by what its Modelfile says, else by what its template shows.

In names, `_`, `-` and `.` are the same and case does not matter. Pure.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from modelfiles.errors import ParameterError
from modelfiles.replies.blocks import Style
from modelfiles.replies.builtin import builtin_parser
from modelfiles.replies.detection import style_of_architecture, style_shown
from modelfiles.replies.toolcalls import ALIASES, STYLES
from modelfiles.templates.tags import REASONING_PARSERS, ThinkingTags, thinking_tags

Value = TypeVar("Value")

_DETECT = ("auto", "true")
_OFF = ("false", "none", "off")


def check_parsers(parameters: Mapping[str, object]) -> None:
    """Refuse unknown parser names among a model's parameters. ParameterError lists the known ones."""
    _check("tool_call_parser", parameters, {*STYLES, *ALIASES})
    _check("reasoning_parser", parameters, REASONING_PARSERS)


def choose_style(
    setting: str | None, template: str, *, builtin: str = "", architecture: str = ""
) -> Style | None:
    """How this model writes tool calls, or None if they are to stay text.

    `setting` is the value of `tool_call_parser`, `builtin` the parser that Ollama would use (`PARSER`), and
    `template` the source of the chat template. Where that shows nothing, the `architecture` may tell.
    """
    name = (setting or "auto").lower()
    if name in _OFF:
        return None
    if name not in _DETECT:
        return _style(name)
    parser = builtin_parser(builtin)
    if parser is None:
        return (_style(builtin) if builtin else None) or _detected(template, architecture)
    return None if parser.plain else _style(parser.style) or _detected(template, architecture)


def choose_tags(
    setting: str | None, template: str | ThinkingTags | None, *, builtin: str = ""
) -> ThinkingTags | None:
    """Between which tags this model thinks; `setting` is the value of `reasoning_parser`, `builtin` as above.

    `template` is the source of the chat template, or the tags that it is known to write.
    """
    name = (setting or "auto").lower()
    if name in _OFF:
        return None
    if name not in _DETECT:
        return _normalized(REASONING_PARSERS).get(_plain(name))
    parser = builtin_parser(builtin)
    if parser is not None and (parser.tags or parser.plain):
        return parser.tags
    return thinking_tags(template) if isinstance(template, str) else template


def is_detected(setting: str | None) -> bool:
    """Whether a parser setting leaves it to the template."""
    return (setting or "auto").lower() in _DETECT


def _style(name: str) -> Style | None:
    found = _normalized({**{alias: STYLES[target] for alias, target in ALIASES.items()}, **STYLES})
    return found.get(_plain(name))


def _detected(template: str, architecture: str) -> Style | None:
    shown = style_shown(template) or style_of_architecture(architecture)
    return STYLES.get(shown) if shown else None


def _check(parameter: str, parameters: Mapping[str, object], known: Iterable[str]) -> None:
    value = parameters.get(parameter)
    if value is None or value == "":
        return
    allowed = {_plain(name) for name in (*_DETECT, *_OFF, *known)}
    if _plain(str(value)) not in allowed:
        names = ", ".join(sorted(known))
        close = difflib.get_close_matches(str(value).strip().lower(), (*_DETECT, *_OFF, *known), n=1)
        suggestion = f"did you mean {close[0]}? " if close else ""
        raise ParameterError(
            f"unknown {parameter} '{value}': {suggestion}must be auto, none or one of the parsers {names}"
        )


def _normalized(names: Mapping[str, Value]) -> dict[str, Value]:
    return {_plain(name): value for name, value in names.items()}


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(".", "_")
