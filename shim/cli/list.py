"""`shim list`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from shim.cli.answers import JSON, integer, moment, objects, text
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
    click.echo(models_table(connect().get("/api/tags"), prefix, datetime.now(UTC)), nl=False)


def models_table(answer: JSON, prefix: str, now: datetime) -> str:
    """What /api/tags answered as a table, of the models whose name begins with `prefix` in any case."""
    models = objects(answer, "models")
    chosen = [model for model in models if text(model, "name").lower().startswith(prefix.lower())]
    return table([("NAME", "ID", "SIZE", "MODIFIED"), *(_row(model, now) for model in chosen)])


def _row(model: dict[str, object], now: datetime) -> tuple[str, str, str, str]:
    size = "-" if text(model, "remote_model") else size_text(integer(model, "size"))
    modified = moment_text(moment(model, "modified_at"), now)
    return text(model, "name"), text(model, "digest")[:12], size, modified
