"""`shim cp`."""

import click

from shim.cli.completing import model_names
from shim.cli.connect import connect

EPILOG = """\b
Example:
  shim cp qwen:30b mine:latest     both names share the same files: no disk space is used
"""


@click.command("cp", epilog=EPILOG)
@click.argument("source", shell_complete=model_names)
@click.argument("destination")
def command(source: str, destination: str) -> None:
    """Copy a model under another name."""
    connect().post("/api/copy", {"source": source, "destination": destination})
    click.echo(f"copied '{source}' to '{destination}'")
