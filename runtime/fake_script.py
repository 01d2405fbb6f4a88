"""What the fake engine says and does, decided from the prompt alone: values in, values out.

A prompt may hold directives; of each kind the last one counts, so a later chat turn overrides an earlier one:

    [[fake:say]]TEXT[[fake:end]]   answer with exactly TEXT, a byte a token, then end
    [[fake:words=N]]               answer with N words, then end      [[fake:forever]]  never end by itself
    [[fake:delay=SECONDS]]         wait before every token
    [[fake:hold=N]]                say no more after N tokens (until cancelled)
    [[fake:until=PATH]]            say no more after the first token until a file PATH exists
    [[fake:fail=KIND]]             fail the request (a kind of events.Failed)
    [[fake:log=TEXT]]              write a line to stderr first
    [[fake:die=HOW@N]]             after N tokens end the process; HOW is a signal's name, "abort" or "exit"

Without directives the answer is 8 to 40 words that depend on the prompt and (above temperature 0) the seed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runtime.errors import BadOptions
from runtime.options import SamplingOptions

BOS = 256
EOS = 257
_FIRST_WORD = 258
_WORDS = (
    *(
        " the",
        " a",
        " slot",
        " token",
        " expert",
        " router",
        " reads",
        " writes",
        " waits",
        " small",
        " deep",
    ),
    *(" layer", " and", " then", " café", " 路由", ".", ",", "!", "\n", " 42"),
)
_EMOJI = "🙂".encode()  # said byte by byte, as a real vocabulary would
N_VOCAB = _FIRST_WORD + len(_WORDS)

_SAY = re.compile(r"\[\[fake:say\]\](.*?)\[\[fake:end\]\]", re.DOTALL)
_DIRECTIVE = re.compile(r"\[\[fake:([a-z]+)(?:=([^\]]*))?\]\]")


@dataclass(frozen=True, slots=True)
class Script:
    """How one request goes."""

    say: str | None = None
    words: int | None = None
    forever: bool = False
    delay_seconds: float = 0.0
    hold_after: int | None = None
    until: str = ""
    fail: str = ""
    log: str = ""
    die: str = ""
    die_after: int = 0


def read_script(prompt: str) -> Script:
    """The directives in ``prompt``."""
    said = _SAY.findall(prompt)
    given = dict(_DIRECTIVE.findall(prompt))
    how, _, after = given.get("die", "").partition("@")
    return Script(
        say=said[-1] if said else None,
        words=int(given["words"]) if "words" in given else None,
        forever="forever" in given,
        delay_seconds=float(given.get("delay", 0)),
        hold_after=int(given["hold"]) if "hold" in given else None,
        until=given.get("until", ""),
        fail=given.get("fail", ""),
        log=given.get("log", ""),
        die=how,
        die_after=int(after or 0),
    )


def spoken_tokens(script: Script, prompt: Sequence[int], sampling: SamplingOptions) -> Iterator[int]:
    """The answer as token ids; ends (or not) as the script says, without the end token."""
    if script.say is not None:
        yield from script.say.encode()
        return
    state = zlib.crc32(repr(list(prompt)).encode())
    if sampling.temperature > 0 and sampling.seed != -1:
        state = zlib.crc32(str(sampling.seed).encode(), state)
    words = script.words if script.words is not None else 8 + state % 33
    said = 0
    while script.forever or said < words:
        said += 1
        state = zlib.crc32(b"next", state)
        if said % 9 == 0:
            yield from _EMOJI
        else:
            yield _FIRST_WORD + state % len(_WORDS)


def encode_text(text: str, add_special: bool) -> list[int]:
    """One token a UTF-8 byte, behind a beginning-of-text token if asked for."""
    return [BOS] * add_special + list(text.encode())


def token_bytes(token: int) -> bytes:
    """What ``token`` stands for; nothing for the two special ones. BadOptions outside the vocabulary."""
    if 0 <= token < BOS:
        return bytes([token])
    if BOS <= token < _FIRST_WORD:
        return b""
    if _FIRST_WORD <= token < N_VOCAB:
        return _WORDS[token - _FIRST_WORD].encode()
    raise BadOptions(f"token {token} is not in the vocabulary of {N_VOCAB} tokens")


def decode_tokens(tokens: Sequence[int]) -> str:
    """The text of ``tokens``; bytes that are no UTF-8 become U+FFFD."""
    return b"".join(map(token_bytes, tokens)).decode(errors="replace")
