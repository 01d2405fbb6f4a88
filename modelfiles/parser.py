"""Text of a Modelfile -> commands, with the errors that Ollama gives. Opens no file.

Rules:
1.  Lines end at LF and at CR, each for itself: the numbers in errors count both, so CRLF counts twice.
2.  Between instructions blanks and line ends are skipped; only there `#` begins a comment, to the line end.
3.  An instruction is a word of letters and one separator (blank or tab). PARAMETER and MESSAGE have a second
    word and a second separator.
4.  The rest is the value. Without quotes it ends with the line. If it begins with one or three double quotes,
    it ends with the first line whose text ends in the same quotes; text behind closing quotes keeps it open.
5.  Runes that cannot be printed vanish, except tabs and line ends inside values. In a word they still count
    as what they are, so one in the middle of an instruction is an error.
"""

import re
from typing import NoReturn

from modelfiles.errors import ModelfileError
from modelfiles.modelfile import FROM, INSTRUCTIONS, MESSAGE, ROLES, Command, Modelfile

_GAP = re.compile(r"(?:[ \t\r\n]++|#[^\r\n]*+)*+")
_LETTERS = re.compile(r"[A-Za-z]*")
_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_]*")
_LINE_END = re.compile(r"[\r\n]")
_EDITOR_LINE_END = re.compile(r"\r\n|\r|\n")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_BAD_INSTRUCTION = 'command must be one of {}, or "requires"'.format(
    ", ".join(f'"{word}"' for word in INSTRUCTIONS if word != "requires")
)
_BAD_ROLE = 'message role must be one of "system", "user", or "assistant"'


def parse(data: bytes | str) -> Modelfile:
    """Read a Modelfile. Raises ModelfileError, whose text is exactly Ollama's."""
    reader = _Reader(_decoded(data) if isinstance(data, bytes) else _cleaned(data))
    commands: list[Command] = []
    while reader.skip_gap():
        commands.append(reader.read_command())
    # As in Ollama, a PARAMETER of that name counts here; typing the parameters refuses it.
    if not any(command.name == FROM for command in commands):
        raise ModelfileError("no FROM line")
    return Modelfile(tuple(commands))


def _decoded(data: bytes) -> str:
    """UTF-8, or UTF-16 if a byte order mark says so. Each byte that is no UTF-8 becomes one U+FFFD."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return _cleaned(data.decode("utf-8", "surrogateescape"))


def _cleaned(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text.removeprefix("\ufeff"))


class _Reader:
    """A place in the text. Each method reads on from there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._editor_line = 1
        self._counted_to = 0

    def skip_gap(self) -> bool:
        """Go to the next instruction; False if there is none."""
        gap = _GAP.match(self._text, self._at)
        self._at = gap.end() if gap else self._at
        return self._at < len(self._text)

    def read_command(self) -> Command:
        line = self._count_editor_lines()
        word = self._instruction()
        if word == "parameter":
            return Command(self._second_word(_PARAMETER_NAME), self._value(), line, is_parameter=True)
        if word == MESSAGE:
            role = self._second_word(_LETTERS)
            if role not in ROLES:
                self._fail(_BAD_ROLE, self._at)
            return Command(MESSAGE, f"{role}: {self._value()}", line)
        return Command(FROM if word == "from" else word, self._value(), line)

    def _instruction(self) -> str:
        # The first rune may be any: what cannot be printed vanishes, all else makes the word a wrong one.
        first = self._text[self._at]
        letters = _LETTERS.match(self._text, self._at + 1)
        end = letters.end() if letters else self._at + 1
        word = (first if first.isprintable() else "") + self._text[self._at + 1 : end]
        if end == len(self._text):
            raise self._unexpected_end()
        if word.lower() not in INSTRUCTIONS or self._text[end] not in " \t":
            self._fail(_BAD_INSTRUCTION, end + 1)
        self._at = end + 1
        return word.lower()

    def _second_word(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        word = match[0] if match else ""
        end = self._at + len(word)
        if end == len(self._text):
            raise self._unexpected_end()
        if self._text[end] not in " \t":
            raise ModelfileError(f"unexpected EOF: {word}", self._editor_line)
        self._at = end + 1
        return word

    def _value(self) -> str:
        piece, line_end = self._rest_of_line()
        quotes = _opening_quotes(piece)
        pieces = [piece + line_end]
        closed = not quotes or (_closes(piece, quotes) and len(piece.strip(" \t")) >= 2 * len(quotes))
        while not closed:
            if not line_end:
                raise self._unexpected_end()
            piece, line_end = self._rest_of_line()
            pieces.append(piece + line_end)
            closed = _closes(piece, quotes)
        value = "".join(pieces).strip(" \t\r\n")
        return value[len(quotes) : len(value) - len(quotes)]

    def _rest_of_line(self) -> tuple[str, str]:
        """What can be printed of the line, and the rune that ends it ("" at the end of the text)."""
        match = _LINE_END.search(self._text, self._at)
        end = match.start() if match else len(self._text)
        piece = self._text[self._at : end]
        self._at = end + 1
        if not piece.isprintable():
            piece = "".join(rune for rune in piece if rune == "\t" or rune.isprintable())
        return piece, match[0] if match else ""

    def _unexpected_end(self) -> ModelfileError:
        return ModelfileError("unexpected EOF", self._editor_line)

    def _fail(self, message: str, read_to: int) -> NoReturn:
        # The number in the text is that of the line where reading stopped, a line end that was read included.
        stopped = 1 + len(_LINE_END.findall(self._text, 0, read_to))
        raise ModelfileError(f"(line {stopped}): {message}", self._editor_line)

    def _count_editor_lines(self) -> int:
        """The line of the present place as an editor shows it, counted on from the instruction before."""
        self._editor_line += len(_EDITOR_LINE_END.findall(self._text, self._counted_to, self._at))
        self._counted_to = self._at
        return self._editor_line


def _opening_quotes(piece: str) -> str:
    start = piece.lstrip(" \t")
    return '"""' if start.startswith('"""') else '"' if start.startswith('"') else ""


def _closes(piece: str, quotes: str) -> bool:
    return piece.rstrip(" \t").endswith(quotes)
