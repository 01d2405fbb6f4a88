"""`shim modelfile`: shows how a Modelfile is read. Asks no server and looks at no other file."""

from __future__ import annotations

import json
import re

import click

from modelfiles.errors import ModelfileError, ParameterError
from modelfiles.modelfile import Modelfile
from modelfiles.parser import parse
from shim.cli.errors import CommandError
from shim.cli.formats import table
from shim.cli.inputs import read_input

_VISIBLE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_LINE_END = re.compile(r"\r\n|\r|\n")
EPILOG = """\b
Examples:
  shim modelfile Modelfile           a line for each instruction, and what would be refused
  shim modelfile Modelfile --json    {"commands":[{"name","args"},...]}, or {"error"} and exit code 1
  shim show mymoe --modelfile | shim modelfile -
"""


@click.command("modelfile", epilog=EPILOG)
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, errors too.")
def command(file: str, as_json: bool) -> int:
    """Show how a Modelfile is read; - reads it from stdin."""
    if as_json:
        return _print_json(file)
    data = read_input(file)
    try:
        modelfile = parse(data)
        click.echo(_table(modelfile), nl=False)
        for warning in modelfile.create_fields().warnings:
            click.echo(f"warning: {warning}", err=True)
    except (ModelfileError, ParameterError) as error:
        raise CommandError(str(error), _hint(error, file, data)) from error
    return 0


def _print_json(file: str) -> int:
    try:
        answer = _answer(parse(read_input(file)))
    except (CommandError, ModelfileError) as error:
        answer = {"error": str(error)}
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n"
    click.echo(text.encode(), nl=False)  # JSON is UTF-8, whatever the terminal's encoding is
    return 1 if "error" in answer else 0


def _answer(modelfile: Modelfile) -> dict[str, object]:
    return {"commands": [{"name": item.name, "args": item.args} for item in modelfile.commands]}


def _table(modelfile: Modelfile) -> str:
    rows = [(str(item.line), item.name, item.args.translate(_VISIBLE)) for item in modelfile.commands]
    return table([("LINE", "NAME", "ARGS"), *rows])


def _hint(error: ModelfileError | ParameterError, file: str, data: bytes) -> str:
    hints = [error.hint] if isinstance(error, ParameterError) and error.hint else []
    lines = _LINE_END.split(data.decode("utf-8", "replace"))
    if error.line and error.line <= len(lines):
        hints.insert(0, f"{file}, line {error.line}: {lines[error.line - 1].strip()}")
    return "; ".join(hints)
