"""`shim list`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from shim.cli.answers import integer, moment, objects, text
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.formats import moment_text, size_text, table

EPILOG = """\b
Examples:
  shim list          all models, the newest first
  shim list qwen     those whose name begins with "qwen"
"""


@click.command("list", epilog=EPILOG)
@click.argument("prefix", default="", shell_complete=model_names)
def command(prefix: str) -> None:
    """List the models in the store."""
    models = objects(connect().get("/api/tags"), "models")
    chosen = [model for model in models if text(model, "name").lower().startswith(prefix.lower())]
    now = datetime.now(UTC)
    click.echo(table([("NAME", "ID", "SIZE", "MODIFIED"), *(_row(model, now) for model in chosen)]), nl=False)


def _row(model: dict[str, object], now: datetime) -> tuple[str, str, str, str]:
    size = "-" if text(model, "remote_model") else size_text(integer(model, "size"))
    modified = moment_text(moment(model, "modified_at"), now)
    return text(model, "name"), text(model, "digest")[:12], size, modified
