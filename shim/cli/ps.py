"""`shim ps`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from shim.cli.answers import integer, moment, objects, text
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.formats import processor_text, size_text, table, until_text

HEADER = ("NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL")
EPILOG = """\b
Examples:
  shim ps            every loaded model, where it lies and until when it stays
  shim ps qwen       those whose name begins with "qwen"
"""


@click.command("ps", epilog=EPILOG)
@click.argument("prefix", default="", shell_complete=model_names)
def command(prefix: str) -> None:
    """List the models that are loaded."""
    models = objects(connect().get("/api/ps"), "models")
    chosen = [model for model in models if text(model, "name").lower().startswith(prefix.lower())]
    now = datetime.now(UTC)
    click.echo(table([HEADER, *(_row(model, now) for model in chosen)]), nl=False)


def _row(model: dict[str, object], now: datetime) -> tuple[str, ...]:
    size, size_vram = integer(model, "size"), integer(model, "size_vram")
    return (
        text(model, "name"),
        text(model, "digest")[:12],
        size_text(size),
        processor_text(size, size_vram),
        str(integer(model, "context_length")),
        until_text(moment(model, "expires_at"), now),
    )
