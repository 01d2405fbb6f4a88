"""`shim --version`."""

from importlib.metadata import PackageNotFoundError, version

import click

from shim.cli.connect import connect
from shim.cli.errors import CommandError

DISTRIBUTION = "moe-shim"


def own_version() -> str:
    """The version of the installed distribution."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown (run from a folder that is not installed)"


def print_version() -> None:
    """Print our version, and the one that the server reports if it runs."""
    click.echo(f"shim version is {own_version()}")
    try:
        client = connect()
        answer = client.get("/api/version")
    except CommandError as error:
        click.echo(f"Warning: {error}", err=True)
        return
    click.echo(f"server at {client.url} speaks the API of version {answer.get('version', 'unknown')}")
