"""Completes commands, options and names of models in a shell.

The shell's function calls the command again with a variable set; what it gets back is click's protocol, with
a function for bash that knows colons: bash takes `qwen:30b` for three words.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from shim.cli.answers import objects, text
from shim.cli.client import Client
from shim.cli.errors import CommandError
from shim.errors import ShimError
from shim.settings import Settings, settings_of_this_process

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SECONDS = 1.0  # who presses a key does not wait
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:$COMP_POINT}" word kind value
    [[ $line == *[[:space:]] ]] && word= || word="${line##*[[:space:]]}"
    local before="${word%%"${word##*:}"}"
    [[ $COMP_WORDBREAKS == *:* ]] || before=
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(COMP_LINE="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


def variable_of(program: str) -> str:
    """The variable that asks a program of that name for completions."""
    return f"_{program.upper()}_COMPLETE"


def script(root: click.Command, shell: str, program: str) -> str:
    """What the user's shell has to read."""
    from click.shell_completion import get_completion_class

    register()
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(root, {}, program, variable_of(program)).source()


def register() -> None:
    """Let click use our function for bash instead of its own."""
    from click.shell_completion import ShellComplete, add_completion_class, split_arg_string

    class Bash(ShellComplete):
        """Reads the whole line; the words that bash makes of it are cut at colons."""

        name = "bash"
        source_template = _BASH

        def get_completion_args(self) -> tuple[list[str], str]:
            import os

            line = os.environ.get("COMP_LINE", "")
            words = split_arg_string(line)[1:]
            if not words or line[-1:].isspace():
                return words, ""
            return words[:-1], words[-1]

        def format_completion(self, item: CompletionItem) -> str:
            return f"{item.type},{item.value}"

    add_completion_class(Bash)


def model_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that begin like what is typed. No fault of server or store may disturb the prompt."""
    from click.shell_completion import CompletionItem

    given = context.params.get(parameter.name or "")
    taken = set(given) if isinstance(given, tuple) else set()
    found: list[str] = []
    with suppress(ShimError, OSError):
        found = known_models(settings_of_this_process())
    start = incomplete.lower()
    return [CompletionItem(name) for name in found if name.lower().startswith(start) and name not in taken]


def known_models(settings: Settings) -> list[str]:
    """From the server, or from the store on this machine if none answers. Raises ShimError, OSError."""
    try:
        listed = objects(Client(settings.host, seconds=_SECONDS).get("/api/tags"), "models")
        return [text(model, "name") for model in listed]
    except CommandError:
        from modelfiles.store import Store

        return sorted(name.display for name in Store(settings.models).names())
