"""What a constraint costs: the same tokens with and without one, side by side in one run.

    python -m bench.constrained --model FILE.gguf [--rounds 5] [--streams 1,4]

The free stream is forced to the same length (ignore_eos), and the constrained one writes a JSON array of free
text and numbers that does not end before it. Prints medians of tokens a second and their ratio.
"""

import statistics
import sys

import click

from bench.contenders import Setup
from bench.our_engine import OurEngine
from runtime.options import Constraint, SamplingOptions
from runtime.threads import thread_count

SCHEMA = """{"type": "array", "minItems": 10000, "items": {"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 40}, "age": {"type": "integer"},
    "kind": {"enum": ["cat", "dog"]}}, "required": ["name", "age", "kind"], "additionalProperties": false}}"""
PROMPT = "<|im_start|>user\nList pets as a JSON array, number {}.<|im_end|>\n<|im_start|>assistant\n"


def rate(engine: OurEngine, constraint: Constraint | None, streams: int, tokens: int) -> float:
    """Tokens a second of all streams together, from the first token on."""
    prompts = [PROMPT.format(number) for number in range(streams)]
    sampling = SamplingOptions(temperature=0, num_predict=tokens, ignore_eos=True)
    return engine.decode_rate(prompts, sampling, constraint)


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False), required=True, help="GGUF file.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--tokens", default=128, show_default=True, help="Tokens to generate in each stream.")
@click.option("--streams", default="1,4", show_default=True, help="How many streams at once.")
@click.option("--threads", default=0, help="0 = as the engine chooses.")
def main(model: str, rounds: int, tokens: int, streams: str, threads: int) -> None:
    """Compare constrained with free decoding."""
    counts = [int(count) for count in streams.split(",")]
    engine = OurEngine(Setup(model, max(counts), 1024, thread_count(threads), ""))
    bound = Constraint("json_schema", SCHEMA)
    for count in counts:
        rates: dict[bool, list[float]] = {False: [], True: []}
        for round_ in range(rounds + 1):
            for with_mask in (False, True) if round_ % 2 else (True, False):
                found = rate(engine, bound if with_mask else None, count, tokens)
                rates[with_mask] += [found] if round_ else []  # the first round warms up
        free, masked = (statistics.median(rates[key]) for key in (False, True))
        click.echo(f"x{count}: free {free:.1f}, constrained {masked:.1f} tok/s, ratio {masked / free:.3f}")
    engine.close()


if __name__ == "__main__":
    sys.exit(main())
