"""`shim rm`."""

import click

from shim.cli.client import Client
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.errors import ServerRefused
from shim.cli.stop import unload

EPILOG = """\b
Example:
  shim rm old:7b old:13b     removes both; files that other models use stay
"""


@click.command("rm", epilog=EPILOG)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", shell_complete=model_names)
def command(models: tuple[str, ...]) -> None:
    """Remove models, and the files that no other model uses."""
    client = connect()
    for model in models:
        _unload_if_loaded(client, model)
        client.delete("/api/delete", {"model": model})
        click.echo(f"deleted '{model}'")


def _unload_if_loaded(client: Client, model: str) -> None:
    try:
        unload(client, model)
    except ServerRefused as refused:
        if not refused.not_found:
            click.echo(f"Warning: unable to stop model '{model}'", err=True)
