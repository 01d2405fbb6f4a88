"""The process of one contender: reads orders from standard input, writes one line of JSON for each.

    python -m bench.contestant KIND SETUP_AS_JSON

Standard output is kept for the answers; whatever libraries print goes to standard error.
"""

import os
import sys
from typing import cast

import msgspec

from bench.contenders import Contender, Decode, Kind, Order, Prefill, Setup


def make(kind: Kind, setup: Setup) -> Contender:
    """Loads the contender. Imported late, so that none carries the others' libraries."""
    if kind == "llama.cpp":
        from bench.bare_llama import BareLlama

        return BareLlama(setup)
    if kind == "engine":
        from bench.our_engine import OurEngine

        return OurEngine(setup)
    if kind == "server":
        from bench.our_server import OurServer

        return OurServer(setup)
    from bench.llama_server import LlamaServer

    return LlamaServer(setup)


def carry_out(contender: Contender, order: Order) -> object:
    """One order's answer."""
    if isinstance(order, Decode):
        return contender.decode(order.prompts, order.tokens)
    if isinstance(order, Prefill):
        return contender.prefill(order.prompt)
    return contender.memory()


def main() -> None:
    """Serves orders until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    contender = make(cast(Kind, sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Setup))
    try:
        answers.write(b"{}\n")
        answers.flush()
        for line in sys.stdin.buffer:
            order = msgspec.json.decode(line, type=Order)
            answers.write(msgspec.json.encode(carry_out(contender, order)) + b"\n")
            answers.flush()
    finally:
        contender.close()


if __name__ == "__main__":
    main()
