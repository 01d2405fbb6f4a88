"""Constrained answers of the fake engine: what its script says where the grammar allows that, else what comes
to an end soonest. Knows no thread.
"""

from __future__ import annotations

from array import array

from runtime.fake_script import BOS, EOS, N_VOCAB, encode_text, token_bytes
from runtime.grammar_cache import Grammars
from runtime.matching import Grant, Mask, Matcher

_SOONEST = b'}]"0,:{['  # closing what is open comes first
_BLANKS = b" \t\r\n"


class FakeVocabulary:
    """See `runtime.matching.TokenSource`."""

    size = N_VOCAB
    bos = BOS
    eos = EOS

    def piece(self, token: int) -> bytes:
        """See the protocol."""
        return token_bytes(token)

    def is_control(self, token: int) -> bool:
        """See the protocol."""
        return token in (BOS, EOS)

    def is_end(self, token: int) -> bool:
        """See the protocol."""
        return token == EOS

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """See the protocol."""
        return encode_text(text, add_special)


def fake_grammars() -> Grammars:
    """Compiles constraints for the fake vocabulary."""
    return Grammars(FakeVocabulary())


class Guide:
    """Turns the tokens of a script into those of a constrained answer."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._words = array("I", bytes((N_VOCAB + 31) // 32 * 4))
        self._mask = Mask(self._words, self._words.buffer_info()[0], len(self._words))

    def choose(self, wanted: int) -> int:
        """The next token: ``wanted`` if it is allowed. EOS ends the answer."""
        grant = self._matcher.fill(self._mask)
        if grant in (Grant.END, Grant.FAILED):
            return EOS
        token = wanted if grant is Grant.ANY or self._allows(wanted) else self._soonest()
        if token != EOS:
            self._matcher.advance(token)
        return token

    def _allows(self, token: int) -> bool:
        return bool(self._words[token >> 5] >> (token & 31) & 1)

    def _soonest(self) -> int:
        visible = (token for token in range(BOS) if token not in _BLANKS)
        order: tuple[int, ...] = (EOS, *_SOONEST, *visible, *_BLANKS, *range(EOS + 1, N_VOCAB))
        return next(token for token in order if self._allows(token))
