"""`shim run`."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from contextlib import closing

import click

from shim.cli.answers import JSON
from shim.cli.chat import Chat
from shim.cli.client import Client
from shim.cli.completing import model_names
from shim.cli.connect import connect
from shim.cli.errors import CommandError, ServerLost, ServerRefused
from shim.cli.images import take_media
from shim.cli.progress import spinner
from shim.cli.pull import fetch
from shim.cli.replies import print_text, reply_writer, timings, write_reply
from shim.cli.thinking import read_think
from shim.cli.wrap import WordWrap
from shim.settings import settings_of_this_process

LOADING = "loading model"
EPILOG = """\b
Examples:
  shim run mymoe "Why is the sky blue?"          one answer
  shim run mymoe                                 a chat; /? lists its commands, /bye leaves it
  cat notes.txt | shim run mymoe "Sum this up:"  what is piped in comes before the prompt
  shim run mymoe --think=false --verbose "Hi"    no thinking; timings afterwards
  shim run mymoe --format json "Three colours"   an answer in JSON; a schema is taken too
"""


_SWITCHES = ("verbose", "insecure", "nowordwrap", "hidethinking", "truncate")
_REWRITTEN = {
    "--think": "--think=true",
    "--truncate=false": "--no-truncate",
    **{f"--{name}=true": f"--{name}" for name in _SWITCHES},
    **{f"--{name}=false": "" for name in _SWITCHES if name != "truncate"},
}


class OptionalValueCommand(click.Command):
    """`--think` may stand alone: then it is true, and the next word is not its value.

    A switch may have a value behind a `=`, as in Go.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        rewritten = (_REWRITTEN.get(argument, argument) for argument in args[:end])
        kept = [new for new, old in zip(rewritten, args, strict=False) if new or not old]
        return super().parse_args(ctx, kept + args[end:])


@click.command("run", cls=OptionalValueCommand, epilog=EPILOG)
@click.argument("model", shell_complete=model_names)
@click.argument("prompt", nargs=-1)
@click.option(
    "--keepalive", metavar="DURATION", help="How long the model stays loaded (5m, 1h, -1 for ever)."
)
@click.option("--verbose", is_flag=True, help="Show timings after each reply.")
@click.option("--insecure", is_flag=True, help="Allow plain HTTP if the model has to be fetched.")
@click.option("--nowordwrap", is_flag=True, help="Do not break lines between words.")
@click.option("--format", "format_", metavar="json|SCHEMA", help="Answer in JSON, or in JSON after a schema.")
@click.option("--think", metavar="[LEVEL]", help="Think first: true, false, low, medium, high or max.")
@click.option("--hidethinking", is_flag=True, help="Do not show what the model thinks.")
@click.option(
    "--truncate/--no-truncate", default=None, help="Embedding models: cut an input that is too long."
)
@click.option("--dimensions", type=int, help="Embedding models: length of the vector.")
def command(
    model: str,
    prompt: tuple[str, ...],
    keepalive: str | None,
    verbose: bool,
    insecure: bool,
    nowordwrap: bool,
    format_: str | None,
    think: str | None,
    hidethinking: bool,
    truncate: bool | None,
    dimensions: int | None,
) -> None:
    """Run a model: answer one prompt, or hold a chat.

    Without PROMPT, on a terminal, a chat begins.
    """
    chat = Chat(
        model,
        think=None if think is None else _think(think),
        format=_format(format_),
        keep_alive=_keep_alive(keepalive),
        verbose=verbose,
        hide_thinking=hidethinking,
        word_wrap=not nowordwrap,
        think_is_given=think is not None,
    )
    text = " ".join(part for part in (_piped(), *map(_clean, prompt)) if part)
    client = connect()
    chat.meet(_shown(client, model, insecure=insecure))
    if "embedding" in chat.capabilities and "completion" not in chat.capabilities:
        _embed(client, chat, text, truncate=truncate, dimensions=dimensions)
        return
    if prompt or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _answer(client, chat, text)
    else:
        _chat(client, chat)


def _shown(client: Client, model: str, *, insecure: bool) -> JSON:
    """What there is to know of the model, which is fetched if it is missing and can be fetched."""
    try:
        return client.post("/api/show", {"model": model})
    except ServerRefused as refused:
        if not refused.not_found:
            raise
        missing = refused
    try:
        fetch(client, model, insecure=insecure)
    except ServerRefused as refused:
        if refused.status < 400:
            raise
        # Refused before it began: this server fetches nothing.
        hint = "'shim list' shows what is there, 'shim create' makes a model of a GGUF file"
        raise CommandError(str(missing), hint) from refused
    return client.post("/api/show", {"model": model})


def _answer(client: Client, chat: Chat, prompt: str) -> None:
    """One prompt outside of any chat; an empty one only loads the model."""
    if not prompt:
        client.post("/api/generate", {**chat.load_body(), "stream": False})
        return
    media = take_media(prompt, chat.model, chat.capabilities)
    for path in media.paths:
        click.echo(f"Added image '{path}'", err=True)
    columns = _columns() if chat.word_wrap else None
    writer = reply_writer(hide_thinking=chat.hide_thinking, wrap=WordWrap(columns) if columns else None)
    with closing(client.stream("/api/generate", chat.prompt_body(media.text, media.images))) as items:
        with spinner(LOADING):
            first = next(items, {})
        last = write_reply(writer, itertools.chain([first], items))
    print_text("\n\n")
    if not last.get("done"):
        raise ServerLost("the reply has no end")
    if chat.verbose:
        click.echo(timings(last), nl=False, err=True)


def _chat(client: Client, chat: Chat) -> None:
    from shim.cli.editor import LineEditor
    from shim.cli.interactive import hold_chat
    from shim.cli.slash import COMMANDS

    chat.keeps_history = not settings_of_this_process().no_history
    editor = LineEditor(COMMANDS, keeps_history=lambda: chat.keeps_history)
    with spinner(LOADING):
        client.post("/api/generate", {**chat.load_body(), "stream": False})
    hold_chat(client, chat, editor.read_line, _columns)


def _embed(client: Client, chat: Chat, text: str, *, truncate: bool | None, dimensions: int | None) -> None:
    if not text:
        raise CommandError("embedding models require input text", f"shim run {chat.model} 'TEXT'")
    settings = {"keep_alive": chat.keep_alive, "truncate": truncate, "dimensions": dimensions}
    given = {name: value for name, value in settings.items() if value is not None}
    answer = client.post("/api/embed", {"model": chat.model, "input": text, **given})
    vectors = answer.get("embeddings")
    if not isinstance(vectors, list) or not vectors:
        raise CommandError("the server sent no embedding")
    click.echo(json.dumps(vectors[0]))


def _columns() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _piped() -> str:
    """What is piped in. Bytes that are no UTF-8 become U+FFFD."""
    if sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _clean(argument: str) -> str:
    """An argument of the shell may hold bytes that are no UTF-8."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _think(text: str) -> bool | str:
    try:
        return read_think(text)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _format(text: str | None) -> object:
    """`json` and other words as they are; what begins like an object is a schema."""
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError(f"--format is no JSON schema: {error}") from error


def _keep_alive(text: str | None) -> object:
    """Seconds as a number, a duration such as 5m as text: the server judges it."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
