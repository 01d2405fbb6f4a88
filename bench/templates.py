"""How long prompts take to make: a chat of 200 messages through templates of both languages, and with a
model's vocabulary, finding what of 100 kB of history fits the context.

python -m bench.templates [--model FILE.gguf]
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import click

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.templates.catalog import families
from modelfiles.templates.choice import PromptTemplate
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import FALLBACK_SOURCE, ChatTemplate, Conversation
from runtime.vocabulary import VocabularyProcess
from shim.fitting import ContextFitter

_MESSAGES = 200
_HISTORY_CHARACTERS = 100_000
_NOW = datetime(2026, 1, 1)
_SENTENCE = "The river was high that spring, and number {} of the ferries stayed at its mooring for days. "


def messages(count: int, sentences: int) -> tuple[Message, ...]:
    """Questions and answers of so many sentences, behind a system message; the last one is a question."""
    roles = islice(cycle(("user", "assistant")), count - 1 + count % 2)
    texts = ("".join(_SENTENCE.format(at * sentences + n) for n in range(sentences)) for at in range(count))
    talk = [Message(role, text) for role, text in zip(roles, texts, strict=False)]
    return (Message("system", "You answer in few words."), *talk)


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The fastest of several runs."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1000


def templates(paths: tuple[Path, ...]) -> Iterator[tuple[str, PromptTemplate]]:
    """The catalogue's, the fallback, and those in files."""
    for family in families():
        yield f"go     {family.name}", GoPrompt(family.template)
    yield "jinja  chatml", ChatTemplate(FALLBACK_SOURCE)
    for path in paths:
        source = path.read_text("utf-8")
        if "{%" in source:
            yield f"jinja  {path.stem}", ChatTemplate(source)
        else:
            yield f"go     {path.stem}", GoPrompt(source)


class _Vocabulary:
    """Counts what it is asked for, as a loaded model does."""

    def __init__(self, process: VocabularyProcess) -> None:
        self._process = process

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        return self._process.tokenize(text, add_special)


def fitting(model: Path, num_ctx: int, rounds: int) -> Iterator[tuple[str, float]]:
    """Milliseconds to count 100 kB, and to fit as much history into the context, by both languages."""
    process = VocabularyProcess(model)
    try:
        talk = messages(_HISTORY_CHARACTERS // (2 * len(_SENTENCE)), 2)
        text = "".join(message.content for message in talk)
        counting = milliseconds(lambda: process.tokenize(text, True), rounds)
        yield f"tokenise {len(text) / 1000:.0f} kB", counting
        go = GoPrompt(next(family.template for family in families() if family.name == "chatml"))
        for name, template in (("go", go), ("jinja", ChatTemplate(FALLBACK_SOURCE))):
            fitter = ContextFitter(template, Conversation(talk, _NOW), num_ctx, _Vocabulary(process))
            yield f"fit into {num_ctx} tokens ({name})", milliseconds(partial(_fit, fitter), rounds)
    finally:
        process.close()


def _fit(fitter: ContextFitter) -> None:
    asyncio.run(fitter.fit())


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--num-ctx", default=4096, show_default=True)
@click.option("--rounds", default=9, show_default=True)
def main(files: tuple[Path, ...], model: Path | None, num_ctx: int, rounds: int) -> None:
    """Time templates (those of FILES too), and with --model fitting to a context."""
    conversation = Conversation(messages(_MESSAGES, 2), _NOW)
    click.echo(f"{len(conversation.messages)} messages")
    for name, template in templates(files):
        try:
            taken = milliseconds(partial(template.render, conversation), rounds)
        except TemplateError as error:
            click.echo(f"{name:34} {error}")
            continue
        click.echo(f"{name:34} {taken:7.2f} ms")
    for name, taken in fitting(model, num_ctx, rounds) if model else ():
        click.echo(f"{name:34} {taken:7.2f} ms")


if __name__ == "__main__":
    main()
