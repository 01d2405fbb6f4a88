"""Measures llama.cpp, our engine, our server and llama-server side by side and prints medians and ratios.

    python -m bench.run --model FILE.gguf [--llama-server PATH] [--rounds 5] [--json OUT.json]

Ratios are to llama.cpp itself, called in the shortest possible loop on the same shared libraries. Rates:
larger is better. Times and memory: smaller is better.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from bench.contenders import Kind, Remote, Setup
from bench.measures import Figures, medians, ratios, table, tokens_per_second
from bench.prompts import counting, reading
from runtime.threads import thread_count

READING_WORDS = 400
SHORT_WORDS = 40


Measure = Callable[[Remote, int], Figures]


def reading_speed(contender: Remote, round_: int) -> Figures:
    """Tokens a second of a long prompt."""
    prefilled = contender.prefill(reading(round_, READING_WORDS))
    return {"prefill tok/s": prefilled.tokens / prefilled.seconds}


def first_token(contender: Remote, round_: int) -> Figures:
    """Milliseconds from a short request to its first token."""
    prefilled = contender.prefill(reading(-1 - round_, SHORT_WORDS))
    return {"first token ms": prefilled.first_token_seconds * 1000}


def writing_speed(count: int, tokens: int) -> Measure:
    """Tokens a second of so many streams together, and our own time a step where it is known."""

    def measure(contender: Remote, round_: int) -> Figures:
        decoded = contender.decode([counting(round_, stream) for stream in range(count)], tokens)
        figures = {f"decode x{count} tok/s": tokens_per_second(decoded)}
        if decoded.own_us is not None:
            figures[f"own us/step x{count}"] = decoded.own_us
        return figures

    return measure


def memory(contender: Remote, round_: int) -> Figures:
    """Resident megabytes."""
    weight = contender.memory()
    figures = {"engine MB": weight.engine_bytes / 1e6}
    return figures | ({"server MB": weight.server_bytes / 1e6} if weight.server_bytes else {})


def run(contenders: list[Remote], rounds: int, streams: list[int], tokens: int) -> dict[str, list[Figures]]:
    """All rounds, measure by measure, so that what is compared is measured within seconds of each other.

    Who begins changes from round to round. A first round, which warms caches, is not counted.
    """
    measures = [reading_speed, first_token, *(writing_speed(count, tokens) for count in streams), memory]
    found: dict[str, list[Figures]] = {contender.kind: [] for contender in contenders}
    for round_ in range(rounds + 1):
        turn = round_ % len(contenders)
        figures: dict[str, Figures] = {contender.kind: {} for contender in contenders}
        for measure in measures:
            for contender in [*contenders[turn:], *contenders[:turn]]:
                figures[contender.kind] |= measure(contender, round_)
        if round_:
            for kind, part in figures.items():
                found[kind].append(part)
        click.echo(f"round {round_} of {rounds}" if round_ else "warmed up", err=True)
    return found


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False), required=True, help="GGUF file.")
@click.option("--llama-server", "binary", type=click.Path(exists=True), help="llama-server, to compare with.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--tokens", default=96, show_default=True, help="Tokens to generate in each stream.")
@click.option("--streams", default="1,4,8", show_default=True, help="How many streams at once.")
@click.option("--num-ctx", default=1024, show_default=True, help="Context of one stream.")
@click.option("--threads", default=0, help="Threads of every contender; 0 = as the engine chooses.")
@click.option("--only", help="Contenders to run, separated by commas.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Also write every round's figures here.")
def main(
    model: str, binary: str | None, rounds: int, tokens: int, streams: str, num_ctx: int, threads: int,
    only: str | None, out: Path | None,
) -> None:  # fmt: skip
    """Compare engine and server with llama.cpp on the same model in the same run."""
    counts = [int(count) for count in streams.split(",")]
    setup = Setup(model, max(counts), num_ctx, thread_count(threads), binary or "")
    kinds: list[Kind] = ["llama.cpp", "engine", "server"]
    if binary:
        kinds.append("llama-server")
    contenders = [Remote(kind, setup) for kind in kinds if only is None or kind in only.split(",")]
    try:
        found = run(contenders, rounds, counts, tokens)
    finally:
        for contender in contenders:
            contender.close()
    report(setup, found, out)


def report(setup: Setup, found: dict[str, list[Figures]], out: Path | None) -> None:
    """Prints the table; writes the file."""
    reference = found.get("llama.cpp")
    others = {who: figures for who, figures in found.items() if who != "llama.cpp"}
    compared = {who: ratios(figures, reference) for who, figures in others.items()} if reference else {}
    columns = {who: medians(figures) for who, figures in found.items()}
    click.echo(f"{setup.model}: {setup.threads} threads, {setup.slots} slots of {setup.num_ctx} tokens")
    click.echo(table(columns, compared))
    if out:
        everything = {"setup": setup, "rounds": found, "medians": columns, "ratios": compared}
        out.write_bytes(msgspec.json.format(msgspec.json.encode(everything)))


if __name__ == "__main__":
    sys.exit(main())
