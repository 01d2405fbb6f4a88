"""`shim create`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from modelfiles.errors import InvalidName, ModelfileError, ModelfilesError, ParameterError
from modelfiles.modelfile import CreateFields
from modelfiles.names import parse_name
from modelfiles.parser import parse
from shim.cli.blobs import BlobSender, shared_store
from shim.cli.connect import connect
from shim.cli.errors import CommandError, ServerRefused
from shim.cli.progress import open_progress, show_items
from shim.cli.sources import Sources, existing_file, find_sources
from shim.settings import settings_of_this_process

DEFAULT_FILE = "Modelfile"
_LINE_END = re.compile(r"\r\n|\r|\n")
EPILOG = """\b
Examples:
  shim create mymoe                     from ./Modelfile
  shim create mymoe -f path/Modelfile   paths in the file are relative to it
  shim create mymoe                     from the *.gguf of this folder, if there is no Modelfile
  shim create small -q Q4_K_M           quantised from 16-bit weights
  shim create small -q Q6_K --quantize-experts IQ4_XS

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
@click.option("--quantize-experts", metavar="TYPE", help="Another type for the experts, such as Q3_K.")
@click.option(
    "--tensor-type",
    "tensor_types",
    multiple=True,
    metavar="PATTERN=TYPE",
    help="A type for tensors whose name matches a regular expression; repeatable, the first match counts.",
)
@click.option(
    "--imatrix", metavar="FILE", help="Importance matrix, a GGUF by llama-imatrix; IQ1 and IQ2 need it."
)
@click.option("--allow-requantize", is_flag=True, help="Quantise weights that are quantised, at a loss.")
@click.option("--draft-quantize", metavar="TYPE", help="Quantise the DRAFT model to this type.")
def command(model: str, file: str, imatrix: str | None, tensor_types: tuple[str, ...], **asked: Any) -> None:
    """Create a model from a Modelfile."""
    _check_name(model)
    types = _tensor_types(tensor_types)
    matrix = None if imatrix is None else existing_file("--imatrix", imatrix)
    source = _read(file)
    fields = _fields(source)
    client = connect()
    sources = find_sources(fields, source.folder)
    with open_progress() as progress:
        for warning in fields.warnings:
            progress.note(f"warning: {warning}")
        progress.status("gathering model components")
        needs_store = bool(sources.all_files() or matrix)
        store = shared_store(client, settings_of_this_process().models) if needs_store else None
        sender = BlobSender(client, store, progress)
        body = _body(model, fields, sources, sender) | _quantizing(asked, types, matrix, sender)
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


def _tensor_types(texts: tuple[str, ...]) -> dict[str, str]:
    """PATTERN=TYPE as a mapping. The type is behind the last sign, since a pattern may hold one."""
    types = {}
    for text in texts:
        pattern, _, kind = text.rpartition("=")
        if not pattern or not kind:
            raise CommandError(f"--tensor-type {text}: not PATTERN=TYPE", "such as 'attn_v=Q6_K'")
        types[pattern] = kind
    return types


def _quantizing(
    asked: Mapping[str, Any], types: dict[str, str], matrix: Path | None, sender: BlobSender
) -> dict[str, object]:
    """The fields of the request that say how to quantise; those that say nothing are left out."""
    fields: dict[str, object] = {**asked, "tensor_types": types}
    if matrix is not None:
        fields["imatrix"] = _sent(sender, matrix)
    return {name: value for name, value in fields.items() if value}


def _sent(sender: BlobSender, path: Path) -> str:
    """The digest of a file that the server then has."""
    try:
        return sender.send(path)
    except ModelfilesError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot read {error.filename}: {error.strerror}") from error


def _body(model: str, fields: CreateFields, sources: Sources, sender: BlobSender) -> dict[str, object]:
    """The create request, once all its files are where the server finds them."""
    body: dict[str, object] = {"model": model, "stream": True}
    if sources.model is not None:
        body["from"] = sources.model
    for name, files in (
        ("files", sources.files),
        ("draft_files", sources.drafts),
        ("adapters", sources.adapters),
    ):
        if files:
            body[name] = {relative: _sent(sender, path) for relative, path in files.items()}
    return body | fields.to_json()
