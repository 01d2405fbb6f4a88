"""`shim mirror`: the list of mirrors, and a test of what they are worth."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shim.cli.errors import CommandError
from shim.cli.formats import size_text, table
from shim.settings import Settings, settings_of_this_process

if TYPE_CHECKING:
    from mirrors.config import Mirror
    from mirrors.config_file import MirrorSettings

EPILOG = """\b
Examples:
  shim mirror list
  shim mirror add https://mirror.example.org                        for Ollama's registry
  shim mirror add https://hub.example.org --for huggingface.co
  shim mirror add http://10.0.0.5:11434 --insecure                  another shim in this network
  shim mirror test
  shim mirror remove https://mirror.example.org
"""
_SITE = click.option("--for", "site", default="", help="The site that it stands in for (registry.ollama.ai).")


@click.group("mirror", epilog=EPILOG)
def command() -> None:
    """Say which sites stand in for registries and hubs."""


@command.command("list")
@click.option("--known", is_flag=True, help="Show mirrors that others run; none of them is used by itself.")
def list_(known: bool) -> None:
    """List the mirrors that are set."""
    from mirrors.listed import CHECKED_ON, LISTED

    if known:
        rows = [(entry.source, entry.url, entry.note) for entry in LISTED]
        click.echo(table([("FOR", "ADDRESS", f"NOTE (of {CHECKED_ON})"), *rows]), nl=False)
        return
    config = _settings().current()
    for problem in config.problems:
        click.echo(f"warning: {problem}", err=True)
    rows = [
        (site, mirror.url, "yes" if mirror.may_name else "files only")
        for site, mirrors in config.mirrors.items()
        for mirror in mirrors
    ]
    click.echo(table([("FOR", "ADDRESS", "TRUSTED FOR TAGS"), *rows]), nl=False)
    if config.origin:
        click.echo(f"from {config.origin}", err=True)


@command.command("add")
@click.argument("url")
@_SITE
@click.option("--insecure", is_flag=True, help="Believe it what a tag means even by plain HTTP.")
@click.option("--priority", type=int, default=0, help="A smaller number is asked first.")
@click.option("--auth", default="", help="Where its token is: env:NAME or file:PATH.")
def add(url: str, site: str, insecure: bool, priority: int, auth: str) -> None:
    """Add a mirror to the list."""
    from mirrors.config_file import add_mirror
    from mirrors.errors import MirrorsError

    values = {"insecure": insecure, "priority": priority, "auth": auth}
    try:
        add_mirror(_file(), url, site, **{key: value for key, value in values.items() if value})
    except MirrorsError as error:
        raise CommandError(str(error)) from error
    _say_what_wins()


@command.command("remove")
@click.argument("url")
@_SITE
def remove(url: str, site: str) -> None:
    """Take a mirror off the list."""
    from mirrors.config_file import remove_mirror
    from mirrors.errors import MirrorsError

    try:
        for upstream in remove_mirror(_file(), url, site):
            click.echo(f"removed for {upstream}", err=True)
    except MirrorsError as error:
        raise CommandError(str(error)) from error


@command.command("test")
@click.argument("url", default="")
@_SITE
@click.option("--model", default="", help="What to ask for: a model, or ORG/REPO of a hub.")
def test(url: str, site: str, model: str) -> int:
    """Ask every mirror (or one): how soon, whether in ranges, and how fast."""
    from mirrors.probing import probe_all

    pairs = _asked_mirrors(url, site)
    found = asyncio.run(probe_all(pairs, model, proxies=_process().transfers.proxies))
    head = ("FOR", "ADDRESS", "ANSWERS IN", "RANGES", "SPEED", "STATE")
    rows = [
        (
            one.site,
            one.url,
            one.latency_text,
            one.ranges_text,
            _speed(one.bytes_per_second),
            one.fault or "ok",
        )
        for one in found
    ]
    click.echo(table([head, *rows]), nl=False)
    return 1 if any(one.fault for one in found) else 0


def _asked_mirrors(url: str, site: str) -> list[tuple[str, Mirror]]:
    """All that are set, those of one site, or one address, which need not be set yet."""
    from mirrors.config import Mirror, checked_url, site_of
    from mirrors.errors import MirrorsError
    from mirrors.listed import REGISTRY

    config = _settings().current()
    for problem in config.problems:
        click.echo(f"warning: {problem}", err=True)
    only = site_of(site) if site else ""
    found = [
        (upstream, mirror)
        for upstream, mirrors in config.mirrors.items()
        for mirror in mirrors
        if only in ("", upstream)
    ]
    if url:
        try:
            address = checked_url(url)
        except MirrorsError as error:
            raise CommandError(str(error)) from error
        named = [pair for pair in found if pair[1].url == address]
        return named or [(only or REGISTRY, Mirror(address, insecure=address.startswith("http:")))]
    if not found:
        hint = "`shim mirror add URL` adds one; `shim mirror list --known` shows some"
        raise CommandError("no mirror is set", hint)
    return found


def _speed(bytes_per_second: float) -> str:
    return f"{size_text(round(bytes_per_second))}/s" if bytes_per_second else "-"


def _process() -> Settings:
    return settings_of_this_process()


def _settings() -> MirrorSettings:
    from mirrors.config_file import MirrorSettings
    from shim.mirror_places import places_of_mirrors

    return MirrorSettings(places_of_mirrors(_process()))


def _file() -> Path:
    path = _process().transfers.mirrors_file
    if path is None:
        raise CommandError("this system has no folder for settings")
    return path


def _say_what_wins() -> None:
    """Where a variable is set, the file that was just changed does not count."""
    settings = _process()
    if settings.mirrors or settings.registries:
        name = "SHIM_MIRRORS" if settings.mirrors else "OLLAMA_REGISTRIES"
        click.echo(f"warning: {name} is set, and wins over this list", err=True)
