"""The `shim` command: its subcommands, and how a command ends.

A subcommand's module is imported when it is called, so that each starts in the time of its own needs.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from shim.cli.errors import CommandError, NoServer
from shim.cli.program import OLLAMA, SHIM, called_as, command_for, program_name, renamed
from shim.errors import ShimError

# Name -> module in this folder, and its line in the list of commands. The order is the one of the help.
COMMANDS = {
    "serve": ("serve", "Start the server"),
    "create": ("create", "Create a model from a Modelfile"),
    "run": ("run", "Run a model: one prompt, or a chat"),
    "list": ("list", "List models"),
    "show": ("show", "Show what a model is made of"),
    "ps": ("ps", "List loaded models"),
    "stop": ("stop", "Unload a model"),
    "cp": ("copy", "Copy a model under another name"),
    "rm": ("remove", "Remove models"),
    "pull": ("pull", "Fetch a model from a registry"),
    "push": ("push", "Send a model to a registry"),
    "import": ("importing", "Import models from files, other programs' folders, and archives"),
    "export": ("exporting", "Pack models into an archive for a machine without a network"),
    "mirror": ("mirror", "Say which sites stand in for registries"),
    "modelfile": ("modelfile", "Show how a Modelfile is read"),
    "render": ("render", "Show the prompt that a request makes"),
    "doctor": ("doctor", "Look for what is wrong with this machine"),
    "completion": ("completion", "Let a shell complete commands and names"),
    "help": ("help", "Show what a command takes"),
}
ALIASES = {"ls": "list", "start": "serve"}

EPILOG = """\b
Examples:
  shim serve                              start the server
  shim create mymoe -f Modelfile          make a model of a GGUF file
  shim run mymoe "Why is the sky blue?"   one answer
  shim run mymoe                          a chat; /? lists its commands
  shim list                               what is there
  shim doctor                             what is wrong, if something is

\b
Environment:
  OLLAMA_HOST    address of the server (127.0.0.1:11434); SHIM_HOST goes before it
  OLLAMA_MODELS  folder of the models (~/.ollama/models)
"""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"shim.cli.{COMMANDS[name][0]}").command
        return command_for(command, called_as(), COMMANDS) if isinstance(command, click.Command) else None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        command_for(click.Command(None, epilog=self.epilog), called_as(), COMMANDS).format_epilog(
            ctx, formatter
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _print_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from shim.cli.version import print_version

        print_version()
        ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the versions of this command and of the server.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A local model server that speaks Ollama's API, with control over mixtures of experts."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None, program: str = SHIM) -> int:
    """Carry out a command and return its exit code; errors go to stderr.

    `program` is the name that texts call the command by. If whoever reads stdout has gone, click ends the
    process with code 1 and no message.
    """
    if f"_{program.upper()}_COMPLETE" in os.environ:
        from shim.cli.completing import register

        register()
    try:
        code = cli.main(args=arguments, prog_name=program, standalone_mode=False)
    except click.Abort:
        return 130
    except click.ClickException as error:
        return _fail(error.format_message(), _usage_hint(error), program)
    except ShimError as error:
        return _fail(_text(error, program), error.hint if isinstance(error, CommandError) else "", program)
    return code if isinstance(code, int) else 0


def _text(error: ShimError, program: str) -> str:
    if program == OLLAMA and isinstance(error, NoServer):
        return "could not connect to ollama server, run 'ollama serve' to start it"
    return str(error)


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"'{context.command_path} --help' shows what it takes" if context else ""


def _fail(message: str, hint: str, program: str) -> int:
    click.echo(f"Error: {renamed(message, program, COMMANDS)}", err=True)
    if hint:
        click.echo(f"hint: {renamed(hint, program, COMMANDS)}", err=True)
    return 1


def main() -> NoReturn:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A model may write any character; what the terminal's encoding lacks is shown as "?".
            stream.reconfigure(errors="replace")
    sys.exit(run(program=program_name(sys.argv[0])))


if __name__ == "__main__":
    main()
