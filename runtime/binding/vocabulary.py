"""Text to token ids and back, with the model's own vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.binding.library import ffi, lib
from runtime.errors import BadOptions

PIECE_BYTES = 512


class Vocabulary:
    """Tokeniser of one model. All methods may be called from any thread."""

    def __init__(self, vocab: Any) -> None:
        self._vocab = vocab
        self.size = int(lib.llama_vocab_n_tokens(vocab))
        self.bos = int(lib.llama_vocab_bos(vocab))
        self.eos = int(lib.llama_vocab_eos(vocab))
        self.adds_bos = bool(lib.llama_vocab_get_add_bos(vocab))
        self.ends = [token for token in range(self.size) if self.is_end(token)]
        count = ffi.new("int32_t *")
        suppressed = lib.llama_vocab_get_suppress_tokens(vocab, count)
        self.suppressed = list(ffi.unpack(suppressed, count[0])) if count[0] else []  # never to be chosen

    def special(self) -> dict[str, Any]:
        """Fields of `runtime.events.EngineInfo`."""
        vocab = self._vocab
        return {
            "eos_ids": self.ends,
            "eot": int(lib.llama_vocab_eot(vocab)),
            "add_eos": bool(lib.llama_vocab_get_add_eos(vocab)),
            "sep": int(lib.llama_vocab_sep(vocab)),
            "add_sep": bool(lib.llama_vocab_get_add_sep(vocab)),
            "fim_prefix": int(lib.llama_vocab_fim_pre(vocab)),
            "fim_suffix": int(lib.llama_vocab_fim_suf(vocab)),
            "fim_middle": int(lib.llama_vocab_fim_mid(vocab)),
        }

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """Token ids; special tokens written in the text are recognised. Lone surrogates become U+FFFD."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8  # a token covers at least one byte, plus what the vocabulary adds
        tokens = ffi.new("llama_token[]", room)
        count = lib.llama_tokenize(self._vocab, data, len(data), tokens, room, add_special, True)
        if count < 0:
            room = -count
            tokens = ffi.new("llama_token[]", room)
            count = lib.llama_tokenize(self._vocab, data, len(data), tokens, room, add_special, True)
        return list(ffi.unpack(tokens, max(count, 0))) if count > 0 else []

    def check(self, tokens: Sequence[int]) -> None:
        """BadOptions for an id that is none: llama.cpp would read beyond its tables."""
        for token in tokens:
            if not 0 <= token < self.size:
                raise BadOptions(f"token {token} is not in the vocabulary of {self.size} tokens")

    def is_control(self, token: int) -> bool:
        """Whether the token stands for no text of its own."""
        return bool(lib.llama_vocab_is_control(self._vocab, token))

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""
        return bool(lib.llama_vocab_is_eog(self._vocab, token))

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for, control tokens by name."""
        buffer = ffi.new("char[]", PIECE_BYTES)
        length = lib.llama_token_to_piece(self._vocab, token, buffer, PIECE_BYTES, 0, True)
        return bytes(ffi.buffer(buffer, max(length, 0)))

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the tokens, control tokens by name; BadOptions for an id that is none."""
        self.check(tokens)
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace")
