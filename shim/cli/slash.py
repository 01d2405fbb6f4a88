"""The commands of an interactive chat that begin with a slash: a line in, the text to print out.

What a command changes, it changes in the Chat; what it wants to know, it asks the server.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from modelfiles.errors import InvalidName, ParameterError
from modelfiles.names import parse_name
from modelfiles.parameters import PARAMETERS, Value, add_parameter
from shim.cli.answers import text
from shim.cli.chat import Chat
from shim.cli.list import models_table
from shim.cli.showing import overview
from shim.cli.thinking import read_think

HELP = """\
Available Commands:
  /set            Set session variables
  /show           Show model information
  /list           List models
  /load <model>   Load another model and begin anew
  /save <model>   Save this session as a model
  /clear          Clear session context
  /bye            Exit
  /?, /help       Help for a command
  /? shortcuts    Help for keyboard shortcuts

Use \"\"\" to begin and end a message of several lines.
"""
SET_HELP = """\
Available Commands:
  /set parameter ...     Set a parameter
  /set system <string>   Set system message
  /set think [level]     Let the model think (low, medium, high, max)
  /set nothink           Answer without thinking
  /set format json       Answer in JSON
  /set noformat          Answer in any form
  /set verbose           Show timings after each reply
  /set quiet             Show no timings
  /set wordwrap          Break lines between words
  /set nowordwrap        Break no lines
  /set history           Keep what is typed for later chats
  /set nohistory         Keep nothing of it
"""
SHOW_HELP = """\
Available Commands:
  /show info         Show details of this model
  /show license      Show its license
  /show modelfile    Show its Modelfile
  /show parameters   Show its parameters
  /show system       Show its system message
  /show template     Show its prompt template
"""
SHORTCUTS = """\
Available keyboard shortcuts:
  Ctrl + a            Move to the beginning of the line
  Ctrl + e            Move to the end of the line
  Alt + b, Alt + f    Move back or forward by a word
  Ctrl + k, Ctrl + u  Delete what is after or before the cursor
  Ctrl + w            Delete the word before the cursor
  Ctrl + r            Look for an earlier line
  Ctrl + l            Clear the screen
  Ctrl + c            Stop the answer
  Ctrl + d            Exit

"""
COMMANDS = (
    *("/set parameter", "/set system", "/set think", "/set nothink", "/set format json", "/set noformat"),
    *("/set verbose", "/set quiet", "/set wordwrap", "/set nowordwrap", "/set history", "/set nohistory"),
    *(f"/show {word}" for word in ("info", "license", "modelfile", "parameters", "system", "template")),
    *("/list", "/load", "/save", "/clear", "/bye", "/exit", "/?", "/help"),
)
_MODES: dict[str, tuple[str, object, str]] = {
    "verbose": ("verbose", True, "Set 'verbose' mode."),
    "quiet": ("verbose", False, "Set 'quiet' mode."),
    "wordwrap": ("word_wrap", True, "Set 'wordwrap' mode."),
    "nowordwrap": ("word_wrap", False, "Set 'nowordwrap' mode."),
    "history": ("keeps_history", True, "Set 'history' mode."),
    "nohistory": ("keeps_history", False, "Set 'nohistory' mode."),
    "noformat": ("format", None, "Disabled format."),
}


class Server(Protocol):
    """The part of the client that the commands use."""

    def get(self, path: str, /) -> dict[str, object]: ...

    def post(self, path: str, body: dict[str, object], /) -> dict[str, object]: ...


def opening_text(chat: Chat) -> str:
    """The model's own messages, as if they had been typed and answered here."""
    said = ((text(message, "role"), text(message, "content")) for message in chat.opening)
    return "".join(f">>> {content}\n" if role == "user" else f"{content}\n\n" for role, content in said)


def is_command(line: str) -> bool:
    """A path such as /home/me/picture.png is no command."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:]


def wants_to_leave(line: str) -> bool:
    return line.strip() in {"/bye", "/exit"}


def carry_out(line: str, chat: Chat, server: Server) -> str:
    """The text that answers a command; a mistake in it is answered too, and changes nothing."""
    name, _, rest = line.strip().partition(" ")
    handler = _HANDLERS.get(name)
    if handler is None:
        return f"Unknown command '{name}'. Type /? for help\n"
    return handler(rest.strip(), chat, server)


def _help(rest: str, chat: Chat, server: Server) -> str:
    return {"set": SET_HELP, "show": SHOW_HELP, "shortcut": SHORTCUTS, "shortcuts": SHORTCUTS}.get(
        rest.removeprefix("/"), HELP
    )


def _list(rest: str, chat: Chat, server: Server) -> str:
    return models_table(server.get("/api/tags"), rest, datetime.now(UTC))


def _clear(rest: str, chat: Chat, server: Server) -> str:
    chat.clear()
    return "Cleared session context\n"


def _set(rest: str, chat: Chat, server: Server) -> str:
    word, _, value = rest.partition(" ")
    value = value.strip()
    if word in _MODES and not value:
        field, setting, said = _MODES[word]
        setattr(chat, field, setting)
        return f"{said}\n"
    setter = _SETTERS.get(word)
    return (
        setter(value, chat)
        if setter
        else f"Unknown command '/set {word}'. Type /? for help\n"
        if word
        else SET_HELP
    )


def _set_parameter(value: str, chat: Chat) -> str:
    name, _, texts = value.partition(" ")
    if not texts.strip():
        return "Usage: /set parameter <name> <value>\n" + _parameter_list()
    values: dict[str, Value] = {}
    try:
        for piece in (
            texts.split() if name in PARAMETERS and PARAMETERS[name].type == "strings" else [texts.strip()]
        ):
            add_parameter(values, name, piece)
    except ParameterError as error:
        return f"Couldn't set parameter: {error}{f' ({error.hint})' if error.hint else ''}\n"
    chat.options |= values
    return f"Set parameter '{name}' to '{texts.strip()}'\n"


def _parameter_list() -> str:
    return "".join(f"  {item.name:<22}{item.help}\n" for item in PARAMETERS.values())


def _set_system(value: str, chat: Chat) -> str:
    if not value:
        return "Usage: /set system <string>\n"
    chat.set_system(_unquoted(value))
    return "Set system message.\n"


def _unquoted(value: str) -> str:
    for quotes in ('"""', '"'):
        if len(value) >= 2 * len(quotes) and value.startswith(quotes) and value.endswith(quotes):
            return value[len(quotes) : -len(quotes)]
    return value


def _set_think(value: str, chat: Chat) -> str:
    try:
        chat.think, chat.think_is_given = read_think(value or "true"), True
    except ValueError as error:
        return f"{error}\n"
    return f"Set 'think' mode to '{value}'.\n" if value else "Set 'think' mode.\n"


def _set_nothink(value: str, chat: Chat) -> str:
    chat.think, chat.think_is_given = False, True
    return "Set 'nothink' mode.\n"


def _set_format(value: str, chat: Chat) -> str:
    if value != "json":
        return "Invalid or missing format: use '/set format json'\n"
    chat.format = "json"
    return "Set format to 'json' mode.\n"


def _show(rest: str, chat: Chat, server: Server) -> str:
    if rest not in {"info", "license", "modelfile", "parameters", "system", "template"}:
        return SHOW_HELP
    answer = server.post("/api/show", {"model": chat.model})
    if rest == "info":
        return overview(answer)
    own = text(answer, rest)
    if rest == "system" and chat.system:
        return f"{chat.system}\n"
    if rest == "parameters" and chat.options:
        return (
            "\n".join(
                [own, *(f"{name:<30} {value} (set here)" for name, value in chat.options.items())]
            ).lstrip()
            + "\n"
        )
    return f"{own}\n" if own else f"No {rest} was specified for this model.\n"


def _load(rest: str, chat: Chat, server: Server) -> str:
    if not rest:
        return "Usage: /load <model>\n"
    shown = server.post("/api/show", {"model": rest})
    server.post("/api/generate", {"model": rest, "prompt": "", "stream": False})
    chat.change_model(rest, shown)
    return f"Loaded model '{rest}'\n{opening_text(chat)}"


def _save(rest: str, chat: Chat, server: Server) -> str:
    if not rest:
        return "Usage: /save <model>\n"
    try:
        parse_name(rest)
    except InvalidName:
        return f"The model name '{rest}' is invalid\n"
    server.post("/api/create", {**chat.save_body(rest), "stream": False})
    return f"Created new model '{rest}'\n"


_SETTERS: dict[str, Callable[[str, Chat], str]] = {
    "parameter": _set_parameter,
    "system": _set_system,
    "think": _set_think,
    "nothink": _set_nothink,
    "format": _set_format,
}
_HANDLERS: dict[str, Callable[[str, Chat, Server], str]] = {
    "/?": _help,
    "/help": _help,
    "/clear": _clear,
    "/set": _set,
    "/show": _show,
    "/list": _list,
    "/load": _load,
    "/save": _save,
}
