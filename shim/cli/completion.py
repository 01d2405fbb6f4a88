"""`shim completion`."""

from __future__ import annotations

import click

from shim.cli.program import called_as

EPILOG = """\b
Examples:
  source <(shim completion bash)                                        in ~/.bashrc
  source <(shim completion zsh)                                         in ~/.zshrc
  shim completion fish > ~/.config/fish/completions/shim.fish

\b
Commands, options and the names of models are completed; the names come from the server if it runs, and from
the store of this machine otherwise.
"""


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that lets a shell complete commands and names."""
    from shim.cli.completing import script

    click.echo(script(click.get_current_context().find_root().command, shell, called_as()))
