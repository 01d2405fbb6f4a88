"""Breaks lines between words on a terminal while the text is still coming. Text in, text with breaks out."""

from __future__ import annotations

from shim.cli.formats import width

_TAB_COLUMNS = 8


class WordWrap:
    """Remembers where the cursor is. A word that gets too long is taken back and begun on the next line."""

    def __init__(self, columns: int) -> None:
        # The last column stays free: behind it, terminals differ in where the cursor is.
        self._limit = max(columns - 1, 1)
        self._column = 0
        self._word = ""

    def feed(self, text: str) -> str:
        return "".join(self._placed(rune) for rune in text)

    def _placed(self, rune: str) -> str:
        if rune == "\n":
            self._column, self._word = 0, ""
            return rune
        columns = _TAB_COLUMNS - self._column % _TAB_COLUMNS if rune == "\t" else width(rune)
        # Before and behind an East Asian sign a line may be broken anywhere.
        ends_word = rune in " \t" or columns == 2
        before = self._broken(ends_word) if self._column + columns > self._limit else ""
        if before and rune in " \t":
            return before
        self._column += columns
        self._word = "" if ends_word else self._word + rune
        return before + rune

    def _broken(self, word_has_ended: bool) -> str:
        """Start a new line, with what is written of the present word unless it is whole or fills its line."""
        columns = width(self._word)
        word = "" if word_has_ended or columns >= self._column else self._word
        back = f"\x1b[{columns}D\x1b[K" if word else ""
        self._column, self._word = width(word), word
        return f"{back}\n{word}"
