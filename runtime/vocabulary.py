"""The vocabulary of a GGUF file without a loaded model: texts to tokens and back.

A process of its own reads only that part of the file.
Blocking. Knows no templates and no store.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runtime.errors import LoadFailed
from runtime.exits import describe_exit


class VocabularyProcess:
    """One vocabulary; a context manager, which ends the process. LoadFailed where it cannot be read.

    `told` are fields of `runtime.events.EngineInfo`: special tokens, and whether some are put around texts.
    """

    def __init__(self, path: Path, *, command: Sequence[str] = ()) -> None:
        chosen = tuple(command) or (sys.executable, "-m", "runtime.vocabulary_worker")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [*chosen, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        try:
            self.told = self._read()
        except LoadFailed:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; twice is no error."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._log.close()

    def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        """Token ids; special tokens written in the text are recognised."""
        return list(map(int, self._ask({"text": text, "add_special": add_special})["tokens"]))

    def pieces(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes that each token stands for, control tokens by name."""
        return [base64.b64decode(piece) for piece in self._ask({"tokens": list(tokens)})["pieces"]]

    def detokenize(self, tokens: Sequence[int]) -> str:
        return b"".join(self.pieces(tokens)).decode("utf-8", "replace")

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LoadFailed("bad_model", str(answer["error"]))
        return answer

    def _died(self) -> LoadFailed:
        reason = describe_exit(self._process.wait()).reason
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        last = f": {lines[-1]}" if lines else ""
        return LoadFailed("engine", f"the process that reads the vocabulary died ({reason}){last}")
