"""Numbers as Go's `fmt` writes them, for every verb and flag. Pure."""

import math
from dataclasses import dataclass

from modelfiles.gotext import number
from modelfiles.templates.go.quoting import is_printable, quoted_rune, rune

_BASES = {"d": "d", "v": "d", "x": "x", "X": "X", "o": "o", "O": "o", "b": "b"}
_FRACTION_DIGITS = 13  # hexadecimal ones of a float64
_LEAST_EXPONENT = -1074


@dataclass(slots=True)
class Flags:
    """What stands between the percent sign and the verb. `go_syntax` is that of `%#v`, `names` of `%+v`."""

    sharp: bool = False
    zero: bool = False
    plus: bool = False
    minus: bool = False
    space: bool = False
    go_syntax: bool = False
    names: bool = False
    width: int | None = None
    precision: int | None = None

    def pad(self, text: str, *, zeros: bool = True) -> str:
        """`text` filled up to the width, counted in characters."""
        missing = (self.width or 0) - len(text)
        if missing <= 0:
            return text
        if self.minus:
            return text + " " * missing
        return ("0" if self.zero and zeros else " ") * missing + text

    def sign(self, *, negative: bool) -> str:
        if negative:
            return "-"
        return "+" if self.plus else " " if self.space else ""


def integer(value: int, verb: str, flags: Flags) -> str | None:
    """None for a verb that integers don't have."""
    if verb in _BASES:
        return _digits(value, verb, flags)
    if verb == "c":
        return flags.pad(rune(value))
    if verb == "q":
        return flags.pad(quoted_rune(value, ascii_only=flags.plus))
    return _unicode(value, flags) if verb == "U" else None


def _digits(value: int, verb: str, flags: Flags) -> str:
    digits = format(abs(value), _BASES[verb])
    least = 0
    if flags.precision is not None:
        least = flags.precision
        if least == 0 and value == 0:
            return " " * (flags.width or 0)
    elif flags.zero and not flags.minus and flags.width is not None:
        least = flags.width - bool(flags.sign(negative=value < 0))
    digits = digits.rjust(least, "0")
    if flags.sharp:
        digits = _prefixed(digits, verb)
    if verb == "O":
        digits = "0o" + digits
    return flags.pad(flags.sign(negative=value < 0) + digits, zeros=False)


def _prefixed(digits: str, verb: str) -> str:
    if verb in "xX":
        return "0" + verb + digits
    if verb == "b":
        return "0b" + digits
    return "0" + digits if verb in "oO" and digits[0] != "0" else digits


def _unicode(value: int, flags: Flags) -> str:
    code = value % 2**64
    text = f"U+{code:0{max(flags.precision or 0, 4)}X}"
    if flags.sharp and code <= 0x10FFFF and is_printable(chr(code)):
        text += f" '{chr(code)}'"
    return flags.pad(text, zeros=False)


def floating(value: float, verb: str, flags: Flags) -> str | None:
    """None for a verb that floats don't have."""
    if verb not in "vbgGxXfeEF":
        return None
    precision = flags.precision
    if precision is None and verb in "feEF":
        precision = 6
    verb = {"v": "g", "F": "f"}.get(verb, verb)
    if not math.isfinite(value):
        return _not_a_number(value, flags)
    digits = _plain(abs(value), verb, precision)
    if flags.sharp and verb != "b":
        digits = _with_point(digits, verb, precision)
    sign = flags.sign(negative=math.copysign(1, value) < 0)
    if sign and flags.zero and not flags.minus:
        return sign + digits.rjust((flags.width or 0) - 1, "0")
    return flags.pad(sign + digits)


def complex_number(value: complex, verb: str, flags: Flags) -> str | None:
    """None for a verb that complex numbers don't have."""
    real = floating(value.real, verb, flags)
    if real is None:
        return None
    plus, flags.plus = flags.plus, True
    imaginary = floating(value.imag, verb, flags)
    flags.plus = plus
    return f"({real}{imaginary}i)"


def _not_a_number(value: float, flags: Flags) -> str:
    if math.isnan(value):
        return flags.pad(flags.sign(negative=False) + "NaN", zeros=False)
    sign = "-" if value < 0 else " " if flags.space and not flags.plus else "+"
    return flags.pad(sign + "Inf" if sign != "+" or flags.plus else "+Inf", zeros=False)


def _plain(value: float, verb: str, precision: int | None) -> str:
    """Without a sign; the shortest digits that tell the number if there is no precision."""
    if verb == "b":
        return _binary(value)
    if verb in "xX":
        text = _hexadecimal(value, precision)
        return text.upper() if verb == "X" else text
    if precision is not None:
        return format(value, f".{precision}{verb}")
    text = number(value)
    return text.upper() if verb == "G" else text


def _binary(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    exponent = max(exponent - 53, _LEAST_EXPONENT) if value else _LEAST_EXPONENT
    return (
        f"{int(math.ldexp(value, -exponent)) if value else 0}p{exponent:+d}"
        if mantissa
        else f"0p{exponent:+d}"
    )


def _hexadecimal(value: float, precision: int | None) -> str:
    mantissa, exponent = math.frexp(value)
    bits, exponent = int(math.ldexp(mantissa, 53)), exponent - 1 if value else 0
    kept = _FRACTION_DIGITS if precision is None else min(precision, _FRACTION_DIGITS)
    dropped = 4 * (_FRACTION_DIGITS - kept)
    if dropped:
        rest, half = bits & ((1 << dropped) - 1), 1 << (dropped - 1)
        bits >>= dropped
        bits += rest > half or (rest == half and bits & 1)
    if bits >> (4 * kept) > 1:
        bits, exponent = bits >> 1, exponent + 1
    fraction = format(bits & ((1 << (4 * kept)) - 1), f"0{kept}x") if kept else ""
    fraction = fraction.rstrip("0") if precision is None else fraction.ljust(precision, "0")
    return f"0x{bits >> (4 * kept):x}{'.' if fraction else ''}{fraction}p{exponent:+03d}"


def _with_point(digits: str, verb: str, precision: int | None) -> str:
    """With a decimal point, and with the trailing zeros that `%g` drops."""
    missing = (6 if precision is None else precision) if verb in "gGx" else 0
    hexadecimal = verb in "xX"
    cut = next((i for i, char in enumerate(digits) if char in ("pP" if hexadecimal else "eE")), len(digits))
    number_part, tail = digits[:cut], digits[cut:]
    significant = number_part.replace(".", "").lstrip("0")
    missing -= len(significant)
    if "." not in number_part:
        missing -= number_part == "0"
        number_part += "."
    return number_part + "0" * max(missing, 0) + tail
