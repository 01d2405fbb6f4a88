"""Go's printf: format strings with flags, widths, precisions and argument numbers.

What is wrong with a format or its arguments is told in the text, as in Go. Knows nothing of templates.
"""

from collections.abc import Sequence

from modelfiles.templates.go.numerals import Flags
from modelfiles.templates.go.printing import Charge, Printer
from modelfiles.templates.go.values import INVALID, Value, type_of

_HIGHEST = 1_000_000  # of a width or precision
_FLAGS = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}


def printf_text(format_: str, arguments: Sequence[Value], charge: Charge) -> str:
    return _Format(format_, arguments, charge).run()


class _Format:
    def __init__(self, format_: str, arguments: Sequence[Value], charge: Charge) -> None:
        self._format = format_
        self._arguments = arguments
        self._printer = Printer(charge)
        self._at = 0
        self._number = 0  # of the next argument
        self._reordered = False
        self._good = True  # whether the argument number of this verb makes sense
        self._behind_number = False

    def run(self) -> str:
        text = self._format
        while (percent := text.find("%", self._at)) >= 0:
            self._printer.write(text[self._at : percent])
            self._at = percent + 1
            if not self._directive():
                break
        else:
            self._printer.write(text[self._at :])
        self._extra()
        return self._printer.text()

    def _directive(self) -> bool:
        """What follows a percent sign; whether anything can come behind it."""
        flags = self._printer.flags = Flags()
        self._good = True
        self._read_flags(flags)
        self._argument_number()
        self._width(flags)
        self._precision(flags)
        if not self._behind_number:
            self._argument_number()
        verb = self._char()
        if not verb:
            self._printer.write("%!(NOVERB)")
            return False
        self._at += 1
        self._verb(verb, flags)
        return True

    def _verb(self, verb: str, flags: Flags) -> None:
        if verb == "%":
            self._printer.write("%")
        elif not self._good:
            self._printer.write(f"%!{verb}(BADINDEX)")
        elif self._number >= len(self._arguments):
            self._printer.write(f"%!{verb}(MISSING)")
        else:
            if verb in "vw":
                flags.go_syntax, flags.sharp = flags.sharp, False
                flags.names, flags.plus = flags.plus, False
            self._printer.argument(self._arguments[self._number], verb)
            self._number += 1

    def _char(self) -> str:
        return self._format[self._at : self._at + 1]

    def _read_flags(self, flags: Flags) -> None:
        while (char := self._char()) in _FLAGS:
            setattr(flags, _FLAGS[char], True)
            self._at += 1

    def _argument_number(self) -> None:
        """`[n]`, counted from 1."""
        self._behind_number = False
        if self._char() != "[":
            return
        self._reordered = True
        end = self._format.find("]", self._at)
        if end < 0 or len(self._format) - self._at < 3:
            self._at += 1
            self._good = False
            return
        start, self._at = self._at + 1, end + 1
        number, stop = self._digits(start, end)
        self._behind_number = number is not None and stop == end
        if number is not None and stop == end and 1 <= number <= len(self._arguments):
            self._number = number - 1
        else:
            self._good = False

    def _width(self, flags: Flags) -> None:
        if self._char() == "*":
            self._at += 1
            flags.width = self._integer_argument()
            if flags.width is None:
                self._printer.write("%!(BADWIDTH)")
            elif flags.width < 0:
                flags.width = -flags.width
                flags.minus, flags.zero = True, False
            self._behind_number = False
            return
        flags.width, self._at = self._digits(self._at, len(self._format))
        if self._behind_number and flags.width is not None:
            self._good = False

    def _precision(self, flags: Flags) -> None:
        if self._char() != "." or self._at + 1 >= len(self._format):
            return
        self._at += 1
        if self._behind_number:
            self._good = False
        self._argument_number()
        if self._char() == "*":
            self._at += 1
            flags.precision = self._integer_argument()
            if flags.precision is not None and flags.precision < 0:
                flags.precision = None
            if flags.precision is None:
                self._printer.write("%!(BADPREC)")
            self._behind_number = False
        else:
            number, self._at = self._digits(self._at, len(self._format))
            flags.precision = number or 0

    def _digits(self, start: int, end: int) -> tuple[int | None, int]:
        """A number and where it ends; one that is far too large swallows the rest."""
        number: int | None = None
        at = start
        while at < end and "0" <= self._format[at] <= "9":
            if (number or 0) > _HIGHEST:
                return None, end
            number = (number or 0) * 10 + int(self._format[at])
            at += 1
        return number, at

    def _integer_argument(self) -> int | None:
        if self._number >= len(self._arguments):
            return None
        value = self._arguments[self._number]
        self._number += 1
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return int(value) if is_integer and abs(value) <= _HIGHEST else None  # type: ignore[arg-type, call-overload]

    def _extra(self) -> None:
        if self._reordered or self._number >= len(self._arguments):
            return
        printer = self._printer
        printer.flags = Flags()
        printer.write("%!(EXTRA ")
        for index, value in enumerate(self._arguments[self._number :]):
            printer.write(", " if index else "")
            if value is None or value is INVALID:
                printer.write("<nil>")
            else:
                printer.write(f"{type_of(value).name}=")
                printer.argument(value, "v")
        printer.write(")")
