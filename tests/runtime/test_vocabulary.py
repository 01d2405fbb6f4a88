"""A vocabulary without a loaded model: the tokens of the engine itself, and what goes wrong."""

import sys
from pathlib import Path

import pytest

from runtime.engine_check import engine_version
from runtime.errors import LoadFailed
from runtime.vocabulary import VocabularyProcess
from tests.modelfiles.gguf.building import DENSE, gguf

pytestmark = pytest.mark.live


def test_texts_to_tokens_and_back(dense_gguf: Path) -> None:
    with VocabularyProcess(dense_gguf) as vocabulary:
        tokens = vocabulary.tokenize("<|im_start|>user\nHello, 世界")
        assert tokens[0] == vocabulary.tokenize("<|im_start|>", add_special=False)[0]
        assert vocabulary.detokenize(tokens) == "<|im_start|>user\nHello, 世界"
        assert vocabulary.pieces(tokens)[0] == b"<|im_start|>"
        assert vocabulary.tokenize("") == []
        assert (vocabulary.told["n_vocab"], vocabulary.told["add_bos"]) == (49152, False)
        ends = [vocabulary.told["bos"], vocabulary.told["eos"]]
        assert vocabulary.detokenize(ends) == "<|im_start|><|im_end|>"
        with pytest.raises(LoadFailed, match="token 49152 is not in the vocabulary"):
            vocabulary.pieces([49152])
        assert vocabulary.tokenize("still there") != []


def test_a_file_without_a_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf(DENSE))
    with pytest.raises(LoadFailed, match="cannot read the vocabulary of "):
        VocabularyProcess(file)


def test_a_process_that_dies(tmp_path: Path) -> None:
    dying = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    with pytest.raises(LoadFailed, match=r"died .*SIGSEGV"):
        VocabularyProcess(tmp_path, command=dying)
    with pytest.raises(LoadFailed, match="SIGSEGV"):
        engine_version(dying)


def test_the_engines_version() -> None:
    assert "/" in engine_version()
    failing = [sys.executable, "-c", 'print(\'{"error": "not compiled"}\')']
    with pytest.raises(LoadFailed, match=r"^not compiled$"):
        engine_version(failing)
