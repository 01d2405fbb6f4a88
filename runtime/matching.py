"""One answer's place in its grammar, and what may stand before the grammar begins.

Tokens in, masks out: a mask has one bit a token, bit i of word i/32 for token i. Knows neither engine nor
thread. The grammar itself is llguidance's.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, Protocol

BLANKS = b" \t\r\n"
MOST_BLANKS = 8  # bytes of a token that may stand between thinking and answer
_ALL = 0xFFFFFFFF


class Grant(enum.Enum):
    """What is allowed next: what the mask says, anything, only the end, nothing for a fault."""

    MASK = enum.auto()
    ANY = enum.auto()
    END = enum.auto()
    FAILED = enum.auto()


class TokenSource(Protocol):
    """A vocabulary."""

    size: int
    bos: int
    eos: int

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for, control tokens by name."""
        ...

    def is_control(self, token: int) -> bool:
        """Whether it stands for no text."""
        ...

    def is_end(self, token: int) -> bool:
        """Whether it ends an answer."""
        ...

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """Text to token ids."""
        ...


class GrammarVocabulary:
    """A vocabulary as llguidance wants it (its attribute names), and sets of tokens by their bytes."""

    def __init__(self, source: TokenSource) -> None:
        ids = range(source.size)
        self.tokens = [source.piece(token) for token in ids]
        self.special_token_ids = [token for token in ids if source.is_control(token)]
        self.ends = [token for token in ids if source.is_end(token)]
        self.eos_token_id = self.ends[0] if self.ends else source.eos
        self.bos_token_id = source.bos if source.bos >= 0 else None
        self.is_tokenizer_wrapper = True
        self._source = source
        self._sets: dict[tuple[str, bytes], tuple[int, ...]] = {}
        self.blank = self._find(lambda piece: 0 < len(piece) <= MOST_BLANKS and not piece.strip(BLANKS))

    def __call__(self, text: bytes | str) -> list[int]:
        """Token ids; special tokens in the text are recognised."""
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return self._source.tokenize(plain, False)

    def beginning(self, text: bytes) -> tuple[int, ...]:
        """Tokens that ``text`` begins with, and tokens that begin with all of it."""
        starts = tuple(text[:size] for size in range(1, len(text)))
        return self._kept("beginning", text, lambda piece: piece in starts or piece.startswith(text))

    def overshooting(self, text: bytes) -> tuple[int, ...]:
        """Tokens that begin with ``text`` and go on with more than blanks."""
        size = len(text)
        return self._kept(
            "overshooting", text, lambda piece: piece.startswith(text) and bool(piece[size:].strip(BLANKS))
        )

    def _kept(self, kind: str, text: bytes, wanted: Callable[[bytes], bool]) -> tuple[int, ...]:
        key = (kind, text)
        if key not in self._sets:
            self._sets[key] = self._find(wanted)
        return self._sets[key]

    def _find(self, wanted: Callable[[bytes], bool]) -> tuple[int, ...]:
        return tuple(token for token, piece in enumerate(self.tokens) if wanted(piece))


class Mask:
    """The words of one mask, and where they lie in memory."""

    def __init__(self, words: MutableSequence[int] | memoryview, address: int, count: int) -> None:
        self.words = words
        self.address = address
        self.count = count

    def fill(self, word: int) -> None:
        """The same bits in every word."""
        for index in range(self.count):
            self.words[index] = word

    def allow(self, tokens: Sequence[int]) -> None:
        """Set their bits."""
        for token in tokens:
            self.words[token >> 5] |= 1 << (token & 31)

    def forbid(self, tokens: Sequence[int]) -> None:
        """Clear their bits."""
        for token in tokens:
            self.words[token >> 5] &= _ALL ^ (1 << (token & 31))


class _Stage(enum.Enum):
    OPENING = enum.auto()  # the text may become the opening tag, or is the answer already
    FREE = enum.auto()  # until the closing tag
    BLANK = enum.auto()  # the closing tag was the last token; one of blanks may follow
    BOUND = enum.auto()


class Matcher:
    """Take tokens in with ``advance``, get the next mask with ``fill``.

    With ``after`` the grammar begins behind that text, and all before it is free. With ``opening`` too, only
    an answer that begins with ``opening`` has a free part.
    """

    def __init__(self, inner: Any, vocabulary: GrammarVocabulary, after: str = "", opening: str = "") -> None:
        self._inner = inner
        self._vocabulary = vocabulary
        self._after = after.encode()
        self._opening = opening.encode() if after else b""
        self._stage = _Stage.OPENING if self._opening else _Stage.FREE if after else _Stage.BOUND
        self._text = b""  # of the opening so far; then as much of the free text as may begin the closing tag
        self._follows = True  # while it may be either, whether the text so far fits the grammar

    @property
    def fault(self) -> str:
        """What went wrong, in one line; empty for nothing."""
        return str(self._inner.get_error()).partition("\n")[0] if self._inner.is_error() else ""

    def advance(self, token: int) -> None:
        """Take in a token that was chosen."""
        piece = self._vocabulary.tokens[token]
        if self._stage is _Stage.BOUND:
            self._inner.consume_token(token)
        elif self._stage is _Stage.OPENING:
            self._open(token, piece)
        elif self._stage is _Stage.FREE:
            self._pass(piece)
        else:
            self._begin(token, piece)

    def _open(self, token: int, piece: bytes) -> None:
        text = self._text + piece
        if text.startswith(self._opening):
            self._inner.reset()
            self._stage, self._text = _Stage.FREE, b""
            self._pass(text[len(self._opening) :])
        else:
            self._follows = self._follows and self._inner.try_consume_tokens([token]) == 1
            self._text = text
            if not self._opening.startswith(text):
                self._stage = _Stage.BOUND

    def _pass(self, piece: bytes) -> None:
        text = self._text + piece
        at = text.find(self._after)
        if at < 0:
            self._text = text[-(len(self._after) - 1) :] if len(self._after) > 1 else b""
            return
        rest = text[at + len(self._after) :]
        self._stage = _Stage.BOUND if rest else _Stage.BLANK
        answer = rest.lstrip(BLANKS)
        if answer:  # a token that holds the whole closing tag and more; no vocabulary is known to have one
            self._inner.consume_tokens(self._vocabulary(answer))

    def _begin(self, token: int, piece: bytes) -> None:
        self._stage = _Stage.BOUND
        if piece.strip(BLANKS) or self._inner.validate_tokens([token]) == 1:
            self._inner.consume_token(token)

    def fill(self, mask: Mask) -> Grant:
        """Write the mask of the next token where one is needed."""
        if self._stage is _Stage.FREE:
            return self._fill_free(mask)
        if self._stage is _Stage.BOUND:
            return self._fill_bound(mask)
        if self._stage is _Stage.BLANK:
            grant = self._fill_bound(mask)
            if grant is Grant.MASK:
                mask.allow(self._vocabulary.blank)
            return grant
        return self._fill_opening(mask)

    def _fill_opening(self, mask: Mask) -> Grant:
        grant = self._fill_bound(mask) if self._follows else Grant.END
        if grant is Grant.FAILED:
            return grant
        if grant is Grant.END:
            mask.fill(0)
            mask.allow(self._vocabulary.ends if self._follows else ())
        mask.allow(self._vocabulary.beginning(self._opening[len(self._text) :]))
        return Grant.MASK

    def _fill_free(self, mask: Mask) -> Grant:
        """All is allowed but a token that would close and go straight on with what nobody has checked."""
        text, after = self._text, self._after
        sizes = [size for size in range(1, min(len(text), len(after) - 1) + 1) if text.endswith(after[:size])]
        unwanted = [token for size in sizes for token in self._vocabulary.overshooting(after[size:])]
        if not unwanted:
            return Grant.ANY
        mask.fill(_ALL)
        mask.forbid(unwanted)
        return Grant.MASK

    def _fill_bound(self, mask: Mask) -> Grant:
        if self._inner.is_error():
            return Grant.FAILED
        if self._inner.is_stopped():
            return Grant.END
        self._inner.unsafe_compute_mask_ptr(mask.address, mask.count * 4)
        return Grant.FAILED if self._inner.is_error() else Grant.MASK
