"""`python -m runtime.vocabulary_worker FILE`: a model's vocabulary, in lines of JSON over pipes.

A process of its own, because native code may die. The first line out tells of the vocabulary, or of what is
wrong. Knows no templates.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.binding.vocabulary import Vocabulary


def told(vocabulary: Vocabulary) -> dict[str, object]:
    """The first line: fields of `runtime.events.EngineInfo`."""
    tokens = {"bos": vocabulary.bos, "eos": vocabulary.eos, "add_bos": vocabulary.adds_bos}
    return {"n_vocab": vocabulary.size, **tokens, **vocabulary.special()}


def answer(vocabulary: Vocabulary, request: Mapping[str, Any]) -> dict[str, object]:
    """{"text", "add_special"} -> {"tokens"}; {"tokens"} -> {"pieces": base64}. BadOptions for a wrong id."""
    if "text" in request:
        return {"tokens": vocabulary.tokenize(request["text"], request["add_special"])}
    vocabulary.check(request["tokens"])
    return {"pieces": [base64.b64encode(vocabulary.piece(token)).decode() for token in request["tokens"]]}


def main(arguments: Sequence[str]) -> int:
    """Serve until stdin ends."""
    from runtime.errors import BadOptions, LoadError

    try:
        from runtime.binding.vocabulary_file import open_vocabulary

        with open_vocabulary(arguments[0]) as vocabulary:
            _write(told(vocabulary))
            for line in sys.stdin.buffer:
                try:
                    _write(answer(vocabulary, json.loads(line)))
                except BadOptions as error:
                    _write({"error": str(error)})
    except LoadError as error:
        _write({"error": str(error)})
        return 1
    return 0


def _write(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
