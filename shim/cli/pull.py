"""`shim pull`."""

from __future__ import annotations

from contextlib import closing

import click

from shim.cli.client import Client
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.progress import open_progress, show_items

EPILOG = """\b
Examples:
  shim pull qwen3:0.6b
  shim pull --insecure 10.0.0.5:5000/team/mymoe     from a registry that speaks plain HTTP
"""


@click.command("pull", epilog=EPILOG)
@click.argument("model", shell_complete=model_names)
@click.option("--insecure", is_flag=True, help="Allow plain HTTP and certificates that nobody vouches for.")
def command(model: str, insecure: bool) -> None:
    """Fetch a model from a registry."""
    fetch(connect(), model, insecure=insecure)


def fetch(client: Client, model: str, *, insecure: bool) -> None:
    """Have the server fetch a model, and show how far it is. Raises ServerRefused with the server's text."""
    body = {"model": model, "insecure": insecure}
    with open_progress() as progress, closing(client.stream("/api/pull", body)) as items:
        show_items(progress, items)
