"""`shim import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from shim.cli.errors import CommandError
from shim.cli.formats import size_text, table
from shim.settings import settings_of_this_process

if TYPE_CHECKING:
    from mirrors.imports.found import Found
    from modelfiles.names import Name
    from modelfiles.store import Store
    from shim.cli.progress import Progress
    from shim.importing import Import, Item

_WORDS = {"new": "import", "there": "already there", "skipped": "skipped", "failed": "failed"}
_DONE = {**_WORDS, "new": "imported"}
EPILOG = """\b
Examples:
  shim import model.gguf                    one file, or any part of a split one
  shim import ~/Downloads                   every GGUF file in a folder
  shim import ~/.lmstudio ~/.cache/huggingface --dry-run
  shim import /media/usb/models             another store of Ollama or of this program
  shim import models.tar                    what 'shim export' made; - reads it from stdin

\b
No server is needed. Files on the disk of the models are shared, not copied, and stay where they are.
"""


@click.command("import", epilog=EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would happen, and do nothing.")
@click.option("--name", "asked", metavar="NAME", default="", help="The name, where PATH holds one model.")
@click.option("--replace", "replaces", is_flag=True, help="Replace models that have the same names.")
def command(paths: tuple[str, ...], dry_run: bool, asked: str, replaces: bool) -> int:
    """Import models from files, other programs' folders, and archives."""
    from mirrors.errors import MirrorsError
    from modelfiles.errors import ModelfilesError
    from modelfiles.names import parse_name
    from modelfiles.store import Store
    from shim.cli.progress import open_progress

    settings = settings_of_this_process()
    store = Store(settings.models, noprune=settings.no_prune)
    try:
        name = parse_name(asked) if asked else None
        found = _find(paths, name)
        with open_progress() as progress:
            items = _files(store, found, name, progress, replaces=replaces, dry=dry_run)
            for archive in found.archives:
                items += _archive(store, archive, progress, replaces=replaces, dry=dry_run)
    except (MirrorsError, ModelfilesError) as error:
        raise CommandError(str(error)) from error
    return _show(items, dry=dry_run)


def _find(paths: tuple[str, ...], name: Name | None) -> Found:
    from mirrors.imports.found import Found, joined
    from mirrors.imports.recognising import find

    found = joined(
        Found(archives=(Path("-"),)) if path == "-" else find(Path(path).expanduser()) for path in paths
    )
    if name is not None and (len(found.models) + len(found.manifests) != 1 or found.archives):
        raise CommandError(
            f"--name fits one model, and there are {len(found.models) + len(found.manifests)}",
            "without it, --dry-run shows the names that they get",
        )
    return found


def _files(
    store: Store, found: Found, name: Name | None, progress: Progress, *, replaces: bool, dry: bool
) -> list[Item]:
    from shim.importing import Import

    work: Import = Import(store, replaces=replaces, name=name)
    items = work.plan(found)
    if dry:
        return items

    def report(path: str, done: int, total: int) -> None:
        progress.bar(path, Path(path).name, done, total)

    return [work.carry_out(item, report) for item in items]


def _archive(store: Store, path: Path, progress: Progress, *, replaces: bool, dry: bool) -> list[Item]:
    from shim.unpacking import unpack

    def report(key: str, done: int, total: int) -> None:
        progress.bar(key, f"unpacking {key}", done, total)

    def unpacked(stream: BinaryIO) -> list[Item]:
        return unpack(store, stream, report, replaces=replaces, dry=dry)

    if path == Path("-"):
        return unpacked(sys.stdin.buffer)
    try:
        with open(path, "rb") as stream:
            return unpacked(stream)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error


def _show(items: list[Item], *, dry: bool) -> int:
    words = _WORDS if dry else _DONE
    rows = [
        (item.what, item.layout, size_text(item.size) if item.size else "", words[item.outcome], item.detail)
        for item in items
    ]
    click.echo(table([("NAME", "FROM", "SIZE", "WHAT", "DETAIL"), *rows]), nl=False)
    failed = any(item.outcome == "failed" for item in items)
    nothing = not any(item.outcome in ("new", "there") for item in items)
    return 1 if failed or nothing else 0
