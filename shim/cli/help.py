"""`shim help`."""

from __future__ import annotations

import click

from shim.cli.errors import CommandError

EPILOG = """\b
Examples:
  shim help          the commands
  shim help run      what `shim run` takes
"""


@click.command("help", epilog=EPILOG)
@click.argument("name", metavar="[COMMAND]", default="")
@click.pass_context
def command(ctx: click.Context, name: str) -> None:
    """Show the commands, or what one of them takes."""
    root = ctx.find_root()
    if not name:
        click.echo(root.get_help())
        return
    found = root.command.get_command(root, name) if isinstance(root.command, click.Group) else None
    if found is None:
        raise CommandError(f"No such command '{name}'.", "'shim help' lists the commands")
    with click.Context(found, info_name=found.name, parent=root) as context:
        click.echo(found.get_help(context))
