"""`shim serve`."""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  shim serve                                     on 127.0.0.1:11434
  OLLAMA_HOST=0.0.0.0:8080 shim serve            on all interfaces, another port
  OLLAMA_MODELS=/data/models shim serve          with the models of another folder
  OLLAMA_KEEP_ALIVE=1h shim serve                models stay loaded for an hour

\b
Every OLLAMA_ variable has a SHIM_ one that goes before it. Log lines go to stderr; Ctrl-C ends the server.
"""


@click.command("serve", epilog=EPILOG)
def command() -> int:
    """Start the server, and run it until it is told to stop."""
    from shim.serve import run
    from shim.settings import settings_of_this_process

    return run(settings_of_this_process())
