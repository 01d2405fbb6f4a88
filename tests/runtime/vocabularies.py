"""A small vocabulary without a model: a token a byte, a few longer ones, and two special ones."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from llguidance import LLTokenizer, TokenizerWrapper

from runtime.grammars import compile_grammar
from runtime.matching import GrammarVocabulary, Grant, Mask, Matcher
from runtime.options import Constraint

LONGER = (b"<think>", b"</", b"think", b">\n", b">{", b"\n\n", b'{"', b"yes", b"no", b"<|end|>", b"<|turn|>")


class SmallVocabulary:
    """See `runtime.matching.TokenSource`."""

    bos = -1

    def __init__(self) -> None:
        self.pieces = [bytes([byte]) for byte in range(256)] + list(LONGER)
        self.size = len(self.pieces)
        self.eos = self.pieces.index(b"<|end|>")

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def is_control(self, token: int) -> bool:
        return self.pieces[token].startswith(b"<|")

    def is_end(self, token: int) -> bool:
        return token == self.eos

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        return list(text.encode())


class Walk:
    """A matcher that is led along token by token; every token has to be allowed."""

    def __init__(self, constraint: Constraint) -> None:
        source = SmallVocabulary()
        vocabulary = GrammarVocabulary(source)
        tokenizer = LLTokenizer(TokenizerWrapper(vocabulary), n_vocab=source.size, eos_token=vocabulary.ends)
        inner = compile_grammar(tokenizer, constraint)
        self._matcher = Matcher(inner, vocabulary, constraint.after, constraint.opening)
        self._pieces = source.pieces
        self._words = array("I", bytes((source.size + 31) // 32 * 4))
        self._mask = Mask(self._words, self._words.buffer_info()[0], len(self._words))
        self.grant = self._matcher.fill(self._mask)

    def allowed(self) -> set[bytes]:
        """The pieces that may come next."""
        if self.grant is Grant.ANY:
            return set(self._pieces)
        if self.grant is not Grant.MASK:
            return set()
        return {
            piece for token, piece in enumerate(self._pieces) if self._words[token >> 5] >> (token & 31) & 1
        }

    def take(self, *pieces: bytes) -> Walk:
        """Go on with these tokens."""
        for piece in pieces:
            assert piece in self.allowed(), piece
            self._matcher.advance(self._pieces.index(piece))
            self.grant = self._matcher.fill(self._mask)
        return self

    def write(self, text: bytes) -> Walk:
        """Go on with a token a byte."""
        return self.take(*each_byte(text))


def each_byte(text: bytes) -> Iterable[bytes]:
    return (text[at : at + 1] for at in range(len(text)))
