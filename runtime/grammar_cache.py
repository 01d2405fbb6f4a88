"""Compiles constraints for one vocabulary, and keeps what was compiled last. Knows no engine."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from runtime.grammars import compile_grammar
from runtime.matching import GrammarVocabulary, Matcher, TokenSource
from runtime.options import Constraint

KEPT_GRAMMARS = 16  # the same few schemas come again and again


class Grammars:
    """Made once for a vocabulary; from any thread."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._vocabulary: GrammarVocabulary | None = None
        self._tokenizer: Any = None
        self._compiled: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def compile(self, constraint: Constraint) -> Matcher:
        """The matcher for a constraint; BadOptions says what in it cannot be honoured."""
        vocabulary = self._prepared()
        key = (constraint.kind, constraint.source)
        with self._lock:
            inner = self._compiled.get(key)
        if inner is None:
            inner = compile_grammar(self._tokenizer, constraint)
            with self._lock:
                self._compiled[key] = inner
                while len(self._compiled) > KEPT_GRAMMARS:
                    self._compiled.popitem(last=False)
        return Matcher(inner.deep_copy(), vocabulary, constraint.after, constraint.opening)

    def _prepared(self) -> GrammarVocabulary:
        from llguidance import LLTokenizer, TokenizerWrapper

        with self._lock:
            if self._vocabulary is None:
                vocabulary = GrammarVocabulary(self._source)
                self._tokenizer = LLTokenizer(
                    TokenizerWrapper(vocabulary),
                    n_vocab=self._source.size,
                    eos_token=vocabulary.ends or None,
                    slices=LLTokenizer.json_slices(),
                )
                self._vocabulary = vocabulary
            return self._vocabulary
