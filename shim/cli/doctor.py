"""`shim doctor`: a table of what was looked at, then what to do about each fault."""

from __future__ import annotations

import sys

import click

from shim.cli.formats import table
from shim.settings import choose_libraries, settings_of_this_process

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}
EPILOG = """\b
Example:
  shim doctor      exit code 1 means that models cannot run here; warnings alone are no failure
"""


@click.command("doctor", epilog=EPILOG)
def command() -> int:
    """Look for what is wrong: engine, processor, memory, disk, store, port."""
    from shim.cli.checks import findings
    from shim.cli.colours import painted

    settings = settings_of_this_process()
    choose_libraries(settings.llama_lib)
    found = list(findings(settings))
    rows = [(item.name, item.state, item.found) for item in found]
    lines = table([("CHECK", "STATE", "FOUND"), *rows]).splitlines()
    click.echo(lines[0])
    for line, item in zip(lines[1:], found, strict=True):
        click.echo(line.replace(item.state, painted(item.state, _COLOURS[item.state], sys.stdout), 1))
    faults = [item for item in found if item.state != "ok"]
    for item in faults:
        click.echo(f"\n{item.name}: {item.remedy}")
    return 1 if any(item.state == "failed" for item in faults) else 0
