"""`shim render`: the exact prompt that a model would get, without a server."""

from __future__ import annotations

import json
import sys
from datetime import datetime

import click

from shim.cli.completing import model_names
from shim.cli.errors import CommandError
from shim.cli.inputs import read_input

EPILOG = """\b
Examples:
  shim render mymoe --input request.json             what `mymoe` would get of this request
  shim render mymoe --input request.json --tokens    its tokens; a table of them on a terminal
  shim render --template new.tmpl --input -          with a template that is not part of a model yet

\b
A request is the body of /api/chat or of /api/generate; its "model" is not needed. A template's error goes to
stderr, begins with `parse:` or `exec:`, and the exit code is 1.
"""


@click.command("render", epilog=EPILOG)
@click.argument("model", required=False, shell_complete=model_names)
@click.option("--input", "input_", default="-", metavar="FILE", help="The request in JSON; - reads stdin.")
@click.option("--template", metavar="FILE", help="Take this template, and no model.")
@click.option("--go", "language", flag_value="go", help="The template is one of Go.")
@click.option("--jinja", "language", flag_value="jinja", help="The template is one of Jinja.")
@click.option("--tokens", is_flag=True, help="Print the tokens instead of the text.")
def command(model: str | None, input_: str, template: str | None, language: str | None, tokens: bool) -> int:
    """Show the exact prompt that a request makes."""
    _check_use(model, template, language, tokens)
    if template is not None and template == input_ == "-":
        raise CommandError("template and request cannot both be read from stdin")
    body = read_input(input_)
    from shim.cli.rendering import RenderFailed

    try:
        if template is not None:
            _write(_of_template(template, language, body))
        elif model is not None:
            _of_model(model, body, tokens=tokens)
    except RenderFailed as error:
        click.echo(f"{error.stage}: {error}", err=True)
        return 1
    return 0


def now() -> datetime:
    """The moment that templates may print."""
    return datetime.now()


def _check_use(model: str | None, template: str | None, language: str | None, tokens: bool) -> None:
    if (model is None) == (template is None):
        raise CommandError("give either MODEL or --template FILE", "'shim render --help' shows examples")
    if language and template is None:
        raise CommandError(f"--{language} is about a --template; a model knows the language of its own")
    if tokens and model is None:
        raise CommandError("--tokens needs a MODEL, whose vocabulary is taken")


def _of_template(file: str, language: str | None, body: bytes) -> str:
    from shim.cli.rendering import asked, language_of, render
    from shim.cli.request_files import read_request

    source = read_input(file).decode("utf-8-sig", "replace")
    kind = language_of(source, file) if language is None else "jinja" if language == "jinja" else "go"
    return render(source, kind, asked(read_request(body)), now())


def _of_model(model: str, body: bytes, *, tokens: bool) -> None:
    from dataclasses import replace

    from modelfiles.errors import ModelfilesError
    from runtime.errors import RuntimeFailure
    from shim.cli.offline import prompt_of
    from shim.cli.request_files import read_request
    from shim.errors import ApiError
    from shim.settings import choose_libraries, settings_of_this_process

    settings = settings_of_this_process()
    choose_libraries(settings.llama_lib)
    request = read_request(body).request
    try:
        prompt = prompt_of(settings, replace(request, model=model), tokens=tokens)
    except ApiError as error:
        hint = "'shim list' lists the models" if error.status == 404 else ""
        raise CommandError(str(error), hint) from error
    except (ModelfilesError, RuntimeFailure) as error:
        raise CommandError(str(error)) from error
    if prompt.text is None:
        raise CommandError("the request has neither a prompt nor messages: it would only load the model")
    if not tokens:
        _write(prompt.text)
    elif sys.stdout.isatty():
        _print_table([(token.id, token.piece) for token in prompt.tokens])
    else:
        click.echo(json.dumps([token.id for token in prompt.tokens]))


def _write(prompt: str) -> None:
    """The prompt's bytes and nothing else, whatever the terminal's encoding is."""
    click.echo(prompt.encode("utf-8", "replace"), nl=False)


def _print_table(tokens: list[tuple[int, bytes]]) -> None:
    from shim.cli.formats import table

    rows = [
        (str(token), json.dumps(piece.decode("utf-8", "replace"), ensure_ascii=False))
        for token, piece in tokens
    ]
    click.echo(table([("ID", "PIECE"), *rows]), nl=False)
