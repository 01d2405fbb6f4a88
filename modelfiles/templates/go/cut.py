"""What is left of a pipeline once the answer has come: the template for the last turn ends there.

Knows nothing of running.
"""

from dataclasses import replace

from modelfiles.templates.go.nodes import Command, Field, Operand, Pipe


def cut_pipe(pipe: Pipe) -> tuple[Pipe | None, bool]:
    """The pipe up to `.Response`, and whether that is in it. None where a command would be left empty."""
    return _Cut().pipe(pipe)


class _Cut:
    def __init__(self) -> None:
        self._found = False

    def pipe(self, pipe: Pipe) -> tuple[Pipe | None, bool]:
        kept = self._kept(pipe)
        return kept, self._found

    def _kept(self, pipe: Pipe) -> Pipe | None:
        commands: list[Command] = []
        for command in pipe.commands:
            words = tuple(word for word in map(self._word, command.words) if word is not None)
            if not words:
                return None
            commands.append(replace(command, words=words))
        return replace(pipe, commands=tuple(commands))

    def _word(self, word: Operand) -> Operand | None:
        if self._found:
            return None
        if isinstance(word, Field) and "Response" in word.path:
            self._found = True
            return word
        return self._kept(word) if isinstance(word, Pipe) else word
