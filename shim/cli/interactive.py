"""The interactive chat: reads, asks, writes, until the user leaves.

What is typed and shown goes through the functions that it is given, so that a test can hold a conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import click

from shim.cli.chat import Chat
from shim.cli.client import Client
from shim.cli.errors import CommandError
from shim.cli.images import take_media
from shim.cli.lines import read_message
from shim.cli.replies import print_text, reply_writer, timings, write_reply
from shim.cli.slash import carry_out, is_command, opening_text, wants_to_leave
from shim.cli.wrap import WordWrap

LEAVE_HINT = "\nUse Ctrl + d or /bye to exit.\n"


def hold_chat(
    client: Client, chat: Chat, read_line: Callable[[str], str], columns: Callable[[], int | None]
) -> None:
    """Answer until the user leaves. `columns` tells the terminal's width, None where there is none."""
    print_text(opening_text(chat))
    while True:
        try:
            message = read_message(read_line)
        except KeyboardInterrupt:
            print_text(LEAVE_HINT)
            continue
        except EOFError:
            print_text("\n")
            return
        if wants_to_leave(message):
            return
        if message.strip():
            _respond(client, chat, message, columns)


def _respond(client: Client, chat: Chat, message: str, columns: Callable[[], int | None]) -> None:
    """Errors and Ctrl-C end only this turn: the session is worth more than one answer."""
    try:
        if is_command(message):
            print_text(carry_out(message, chat, client))
        else:
            _ask(client, chat, message, columns())
    except KeyboardInterrupt:
        print_text("\n")
    except CommandError as error:
        click.echo(f"Error: {error}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)


def _ask(client: Client, chat: Chat, message: str, columns: int | None) -> None:
    media = take_media(message, chat.model, chat.capabilities)
    for path in media.paths:
        print_text(f"Added image '{path}'\n")
    chat.ask(media.text, media.images)
    wrap = WordWrap(columns) if columns and chat.word_wrap else None
    writer = reply_writer(hide_thinking=chat.hide_thinking, wrap=wrap)
    try:
        with closing(client.stream("/api/chat", chat.body())) as items:
            last = write_reply(writer, items)
    except KeyboardInterrupt:
        last = {}
    except CommandError:
        if not writer.content:
            chat.take_back()
            raise
        chat.answer(writer.content, writer.thinking)
        print_text("\n")
        raise
    chat.answer(writer.content, writer.thinking)
    print_text("\n\n")
    if chat.verbose:
        click.echo(timings(last), nl=False, err=True)
