"""`shim --version`."""

import click

from shim.cli.connect import connect
from shim.cli.errors import CommandError
from shim.versions import own_version


def print_version() -> None:
    """Print our version, and the one of the API that the server speaks if it runs."""
    click.echo(f"shim version is {own_version()}")
    try:
        client = connect()
        answer = client.get("/api/version")
    except CommandError as error:
        click.echo(f"Warning: {error}", err=True)
        return
    click.echo(f"server at {client.url} speaks the API of version {answer.get('version', 'unknown')}")
