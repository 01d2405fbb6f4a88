"""`shim --version`."""

from importlib.metadata import version

import click

from shim.cli.connect import connect
from shim.cli.errors import CommandError

DISTRIBUTION = "moe-shim"


def print_version() -> None:
    """Print our version, and the one that the server reports if it runs."""
    click.echo(f"shim version is {version(DISTRIBUTION)}")
    try:
        client = connect()
        answer = client.get("/api/version")
    except CommandError as error:
        click.echo(f"Warning: {error}", err=True)
        return
    click.echo(f"server at {client.url} speaks the API of version {answer.get('version', 'unknown')}")
