"""`shim --version`."""

import click

from shim.cli.connect import connect
from shim.cli.errors import CommandError
from shim.cli.program import OLLAMA, called_as
from shim.versions import API_VERSION, own_version


def print_version() -> None:
    """Print the versions of this command and of the server, with a warning if they do not fit together.

    Under the name `ollama`, in the words that programs look for.
    """
    if called_as() == OLLAMA:
        _print_as_ollama()
        return
    click.echo(f"shim version is {own_version()}")
    try:
        client = connect()
        answer = client.get("/api/version")
    except CommandError as error:
        click.echo(f"Warning: {error}", err=True)
        return
    spoken = answer.get("version", "unknown")
    click.echo(f"server at {client.url} speaks the API of version {spoken}")
    if spoken != API_VERSION:
        click.echo(f"Warning: client version is {API_VERSION}", err=True)


def _print_as_ollama() -> None:
    spoken: object = ""
    try:
        spoken = connect().get("/api/version").get("version", "")
        click.echo(f"ollama version is {spoken}")
    except CommandError:
        click.echo("Warning: could not connect to a running Ollama instance")
    if spoken != API_VERSION:
        click.echo(f"Warning: client version is {API_VERSION}")
