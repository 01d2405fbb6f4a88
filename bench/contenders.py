"""What takes part: each contender in a process of its own, told over pipes what to measure next.

All of them stay loaded during the whole run and idle while another one works, so that rounds can be
interleaved.
"""

import subprocess
import sys
from typing import Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from bench.measures import Decoded, Memory, Prefilled

Kind = Literal["llama.cpp", "engine", "server", "llama-server"]


class Setup(Struct, frozen=True):
    """The same for every contender. `num_ctx` is the context of one slot; `binary` is llama-server's path."""

    model: str
    slots: int
    num_ctx: int
    threads: int
    binary: str = ""


class Decode(Struct, frozen=True, tag=True):
    """Generate `tokens` tokens after each of the prompts, at the same time, greedily."""

    prompts: list[str]
    tokens: int


class Prefill(Struct, frozen=True, tag=True):
    """Read a prompt and make one token."""

    prompt: str


class Weigh(Struct, frozen=True, tag=True):
    """Say how much memory is resident."""


Order: TypeAlias = Decode | Prefill | Weigh


class Contender(Protocol):
    """What is measured. `close` frees and ends everything."""

    def decode(self, prompts: list[str], tokens: int) -> Decoded: ...

    def prefill(self, prompt: str) -> Prefilled: ...

    def memory(self) -> Memory: ...

    def close(self) -> None: ...


class Remote:
    """A contender in another process, as seen from the one that gives the orders."""

    def __init__(self, kind: Kind, setup: Setup) -> None:
        command = [sys.executable, "-m", "bench.contestant", kind, msgspec.json.encode(setup).decode()]
        self.kind = kind
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._receive()  # its first line says that it is loaded

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        return msgspec.json.decode(self._ask(Decode(prompts, tokens)), type=Decoded)

    def prefill(self, prompt: str) -> Prefilled:
        return msgspec.json.decode(self._ask(Prefill(prompt)), type=Prefilled)

    def memory(self) -> Memory:
        return msgspec.json.decode(self._ask(Weigh()), type=Memory)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _ask(self, order: Order) -> bytes:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.kind} ended with code {self._process.wait()}; see above")
        return line
