"""`shim stop`."""

import click

from shim.cli.client import Client
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.errors import CommandError, ServerRefused

EPILOG = """\b
Examples:
  shim ps            shows what is loaded
  shim stop qwen     unloads it; requests that are running end first
"""


@click.command("stop", epilog=EPILOG)
@click.argument("model", shell_complete=model_names)
def command(model: str) -> None:
    """Unload a model from memory."""
    try:
        unload(connect(), model)
    except ServerRefused as refused:
        if not refused.not_found:
            raise
        raise CommandError(
            f'couldn\'t find model "{model}" to stop', "'shim ps' lists what is loaded"
        ) from refused


def unload(client: Client, model: str) -> None:
    """Let the server unload the model. Raises ServerRefused, also for a name that is not known."""
    client.post("/api/show", {"model": model})
    client.post("/api/generate", {"model": model, "keep_alive": 0, "stream": False})
