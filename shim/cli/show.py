"""`shim show`."""

from __future__ import annotations

import click

from shim.cli.answers import text
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.errors import CommandError
from shim.cli.showing import overview

# Which of these texts end in a newline of their own when printed alone.
SELECTORS = {"license": True, "modelfile": True, "parameters": True, "system": False, "template": False}
EPILOG = """\b
Examples:
  shim show mymoe                  what the model is, its experts and parameters
  shim show mymoe --modelfile      a Modelfile that makes it again; change it and use 'shim create'
  shim show mymoe -v               all metadata and tensors of the file
"""


@click.command("show", epilog=EPILOG)
@click.argument("model", shell_complete=model_names)
@click.option("--license", is_flag=True, help="Print the license only.")
@click.option("--modelfile", is_flag=True, help="Print the Modelfile only.")
@click.option("--parameters", is_flag=True, help="Print the parameters only.")
@click.option("--system", is_flag=True, help="Print the system message only.")
@click.option("--template", is_flag=True, help="Print the template only.")
@click.option("-v", "--verbose", is_flag=True, help="Add the metadata and tensors of the file.")
def command(model: str, verbose: bool, **selected: bool) -> None:
    """Show what a model is made of."""
    chosen = [name for name, wanted in selected.items() if wanted]
    if len(chosen) > 1:
        *others, last = (f"'--{name}'" for name in SELECTORS)
        raise CommandError(f"only one of {', '.join(others)}, or {last} can be specified")
    answer = connect().post("/api/show", {"model": model, "verbose": verbose})
    if chosen:
        click.echo(text(answer, chosen[0]), nl=SELECTORS[chosen[0]])
    else:
        click.echo(overview(answer, verbose=verbose), nl=False)
