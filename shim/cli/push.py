"""`shim push`."""

from __future__ import annotations

from contextlib import closing

import click

from modelfiles.errors import InvalidName
from modelfiles.names import DEFAULT_HOST, Name, parse_name
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.errors import CommandError
from shim.cli.progress import open_progress, show_items

_WEBSITE = "https://ollama.com"
EPILOG = """\b
Examples:
  shim cp mymoe me/mymoe && shim push me/mymoe
  shim push --insecure 10.0.0.5:5000/team/mymoe     to a registry that speaks plain HTTP
"""


@click.command("push", epilog=EPILOG)
@click.argument("model", shell_complete=model_names)
@click.option("--insecure", is_flag=True, help="Allow plain HTTP and certificates that nobody vouches for.")
def command(model: str, insecure: bool) -> None:
    """Send a model to a registry."""
    try:
        name = parse_name(model)
    except InvalidName as error:
        raise CommandError(str(error)) from error
    body = {"model": model, "insecure": insecure}
    with open_progress() as progress, closing(connect().stream("/api/push", body)) as items:
        show_items(progress, items)
    page = page_of(name)
    if page:
        click.echo(f"\nYou can find your model at:\n\n\t{page}\n")


def page_of(name: Name) -> str:
    """Where a model of the public registry can be looked at; other registries may have no pages."""
    if name.host.lower() != DEFAULT_HOST:
        return ""
    return f"{_WEBSITE}/{name.display.removesuffix(':latest')}"
