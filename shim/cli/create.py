"""`shim create`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from modelfiles.errors import InvalidName, ModelfileError, ModelfilesError, ParameterError
from modelfiles.modelfile import CreateFields
from modelfiles.names import parse_name
from modelfiles.parser import parse
from shim.cli.blobs import BlobSender, shared_store
from shim.cli.connect import connect
from shim.cli.errors import CommandError, ServerRefused
from shim.cli.progress import open_progress, show_items
from shim.cli.sources import Sources, find_sources
from shim.settings import settings_of_this_process

DEFAULT_FILE = "Modelfile"
_LINE_END = re.compile(r"\r\n|\r|\n")
EPILOG = """\b
Examples:
  shim create mymoe                     from ./Modelfile
  shim create mymoe -f path/Modelfile   paths in the file are relative to it
  shim create mymoe                     from the *.gguf of this folder, if there is no Modelfile

\b
A Modelfile for a mixture of experts:
  FROM ./qwen3-30b-a3b-q4_k_m.gguf
  PARAMETER num_experts_used 4
  PARAMETER num_ctx 16384
  PARAMETER temperature 0.7
  SYSTEM You answer briefly.

\b
A file on the disk of the models is linked, not copied, and stays where it is.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A Modelfile's bytes, what to call it in messages, and the folder that its paths are relative to."""

    data: bytes
    label: str
    folder: Path


@click.command("create", epilog=EPILOG)
@click.argument("model")
@click.option(
    "-f",
    "--file",
    default=DEFAULT_FILE,
    metavar="FILE",
    help="The Modelfile; - reads it from stdin.",
    show_default=True,
)
@click.option("-q", "--quantize", metavar="TYPE", help="Quantise the weights to this type, such as Q4_K_M.")
def command(model: str, file: str, quantize: str | None) -> None:
    """Create a model from a Modelfile."""
    _check_name(model)
    source = _read(file)
    fields = _fields(source)
    client = connect()
    sources = find_sources(fields, source.folder)
    with open_progress() as progress:
        for warning in fields.warnings:
            progress.note(f"warning: {warning}")
        progress.status("gathering model components")
        store = shared_store(client, settings_of_this_process().models) if sources.all_files() else None
        body = _body(model, quantize, fields, sources, BlobSender(client, store, progress))
        try:
            show_items(progress, client.stream("/api/create", body))
        except ServerRefused as refused:
            raise _explained(refused, sources) from refused


def _explained(refused: ServerRefused, sources: Sources) -> CommandError:
    """A FROM that is neither a file nor a model is most often a wrong path."""
    if sources.model is None or not refused.not_found:
        return refused
    hint = "there is no file of that name either; 'shim list' shows what FROM may name besides a GGUF file"
    return CommandError(str(refused), hint)


def _check_name(model: str) -> None:
    try:
        parse_name(model)
    except InvalidName as error:
        hint = "a name is MODEL, MODEL:TAG or NAMESPACE/MODEL:TAG, of letters, digits, '-', '_' and '.'"
        raise CommandError(str(error), hint) from error


def _read(file: str) -> Source:
    """The named Modelfile; without one, all model files of this folder."""
    if file == "-":
        return Source(sys.stdin.buffer.read(), "stdin", Path.cwd())
    path = Path(file).expanduser()
    try:
        return Source(path.read_bytes(), file, path.resolve().parent)
    except FileNotFoundError:
        if file != DEFAULT_FILE:
            click.echo(f"warning: {file} does not exist, looking for model files in this folder", err=True)
        return Source(b"FROM .\n", "this folder", Path.cwd())
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from error


def _fields(source: Source) -> CreateFields:
    """What the Modelfile asks for; a mistake is shown with its line."""
    try:
        return parse(source.data).create_fields()
    except (ModelfileError, ParameterError) as error:
        hints = [_quoted_line(source, error.line)] if error.line else []
        if isinstance(error, ParameterError) and error.hint:
            hints.append(error.hint)
        raise CommandError(str(error), "; ".join(hints)) from error


def _quoted_line(source: Source, line: int) -> str:
    lines = _LINE_END.split(source.data.decode("utf-8", "replace"))
    return f"{source.label}, line {line}: {lines[line - 1].strip()}" if line <= len(lines) else source.label


def _body(
    model: str, quantize: str | None, fields: CreateFields, sources: Sources, sender: BlobSender
) -> dict[str, object]:
    """The create request, once all its files are where the server finds them."""
    body: dict[str, object] = {"model": model, "stream": True}
    if quantize:
        body["quantize"] = quantize
    if sources.model is not None:
        body["from"] = sources.model
    try:
        for name, files in (
            ("files", sources.files),
            ("draft_files", sources.drafts),
            ("adapters", sources.adapters),
        ):
            if files:
                body[name] = {relative: sender.send(path) for relative, path in files.items()}
    except ModelfilesError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot read {error.filename}: {error.strerror}") from error
    return body | fields.to_json()
