"""`shim export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shim.cli.errors import CommandError
from shim.cli.formats import size_text
from shim.settings import settings_of_this_process

EPILOG = """\b
Examples:
  shim export mymoe -o mymoe.tar
  shim export mymoe other -o both.tar --since mymoe.tar   without what mymoe.tar has
  shim export mymoe -o m.tar --have list                  without the blobs in a list, such as 'ls blobs'
  shim export mymoe -o - | ssh host shim import -

\b
No server is needed. The archive is a plain tar; unpacked into a folder of models, it is a store.
"""


@click.command("export", epilog=EPILOG)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="The archive; - writes it to stdout.")
@click.option("--since", metavar="FILE", help="Leave out what this archive, or its index.json, has.")
@click.option("--have", metavar="FILE", help="Leave out the blobs that this list names.")
@click.option("--force", is_flag=True, help="Replace the archive if it exists.")
def command(models: tuple[str, ...], output: str, since: str | None, have: str | None, force: bool) -> None:
    """Pack models into an archive for a machine without a network."""
    from mirrors.errors import MirrorsError
    from modelfiles.errors import ModelfilesError
    from modelfiles.store import Store
    from shim.cli.progress import open_progress
    from shim.exporting import digests_of_file, plan_export, save_export, write_export

    target = Path(output).expanduser()
    if output != "-" and target.exists() and not force:
        raise CommandError(f"{output} exists already", "--force replaces it")
    store = Store(settings_of_this_process().models)
    try:
        owned = [digests_of_file(Path(file).expanduser()) for file in (since, have) if file]
        export = plan_export(store, models, frozenset[str]().union(*owned))
        with open_progress() as progress:

            def report(done: int, total: int) -> None:
                progress.bar(output, f"writing {target.name}", done, total)

            if output == "-":
                write_export(store, export, sys.stdout.buffer, report)
                sys.stdout.buffer.flush()
            else:
                save_export(store, export, target, report)
    except (MirrorsError, ModelfilesError) as error:
        raise CommandError(str(error)) from error
    left = len(export.index.left_out)
    click.echo(
        f"models: {len(export.manifests)}, blobs: {len(export.index.blobs)}, {size_text(export.size)}"
        + (f"; blobs left out: {left}" if left else ""),
        err=True,
    )
