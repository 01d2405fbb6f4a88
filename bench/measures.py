"""What is measured, and how measurements become figures. Values in, values out.

A machine that other work shares gives noisy times. So every contender runs in every round, one after the
other, medians are taken over the rounds, and a ratio is the median of the ratios within the rounds.
"""

import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct


class Stream(Struct, frozen=True):
    """One generated text: how many tokens, and the seconds from the request to each piece of it."""

    tokens: int
    arrivals: list[float]


class Decoded(Struct, frozen=True):
    """Several texts generated at the same time; `own_us` is time per step outside the model, where known."""

    streams: list[Stream]
    own_us: float | None = None


class Prefilled(Struct, frozen=True):
    """A prompt read: its length, how long its evaluation took, how long until the first token was there."""

    tokens: int
    seconds: float
    first_token_seconds: float


class Memory(Struct, frozen=True):
    """Resident bytes of the process that speaks HTTP (0 where there is none) and of the one that computes."""

    server_bytes: int
    engine_bytes: int


Figures = dict[str, float]


def tokens_per_second(decoded: Decoded) -> float:
    """The rate of all streams together, while all of them ran.

    That is from when the last one has begun to when the first one has ended: reading the prompts of late ones
    is not counted against early ones, and nobody gains from running alone in the end.
    """
    begun = max(stream.arrivals[0] for stream in decoded.streams)
    ended = min(stream.arrivals[-1] for stream in decoded.streams)
    if ended <= begun:
        return 0.0
    return sum(_tokens_between(stream, begun, ended) for stream in decoded.streams) / (ended - begun)


def _tokens_between(stream: Stream, begun: float, ended: float) -> float:
    """A piece may hold several tokens; all are taken to hold equally many."""
    within = sum(begun < seconds <= ended for seconds in stream.arrivals)
    return within * stream.tokens / len(stream.arrivals)


def medians(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure over the rounds that have it."""
    names = list(dict.fromkeys(name for figures in rounds for name in figures))
    return {name: statistics.median(f[name] for f in rounds if name in f) for name in names}


def ratios(rounds: Sequence[Figures], reference: Sequence[Figures]) -> Figures:
    """For each figure the median over the rounds of its ratio to the reference's figure of the same round."""
    pairs = [
        {name: mine[name] / theirs[name] for name in mine if theirs.get(name)}
        for mine, theirs in zip(rounds, reference, strict=True)
    ]
    return medians(pairs)


def table(columns: Mapping[str, Figures], compared: Mapping[str, Figures]) -> str:
    """Figures as text: one line a figure, one column a contender; ratios to the first one in parentheses."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    rows = [["", *columns]]
    for name in names:
        rows.append([name, *(_cell(name, columns[who], compared.get(who, {})) for who in columns)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _cell(name: str, figures: Figures, ratio: Figures) -> str:
    if name not in figures:
        return "-"
    text = f"{figures[name]:.1f}" if figures[name] < 1000 else f"{figures[name]:.0f}"
    return f"{text} ({ratio[name]:.3f}x)" if name in ratio else text
