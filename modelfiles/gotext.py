"""How Go prints values as text: what `show` has to look like for programs that read it.

Pure. Strings as %q, numbers as %v, which is not the notation of JSON: an exponent from 1e+06 on.
"""

_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_EXPONENT_FROM = 6
_EXPONENT_BELOW = -4


def quoted(text: str) -> str:
    """The text in double quotes, with escapes for what cannot be seen."""
    return '"' + "".join(map(_quoted_char, text)) + '"'


def number(value: float) -> str:
    """A number as Go prints a float64, which is what every number of a parameter becomes there."""
    mantissa, exponent_text = f"{float(value):e}".split("e")
    digits = _shortest_digits(float(value))
    exponent = int(exponent_text)
    sign = "-" if mantissa.startswith("-") else ""
    if _EXPONENT_BELOW <= exponent < _EXPONENT_FROM or value == 0:
        return sign + _plain(digits, exponent if value else 0)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"


def _shortest_digits(value: float) -> str:
    """The significant digits of the shortest text that gives the value again."""
    mantissa = repr(abs(value)).partition("e")[0].replace(".", "").lstrip("0")
    return mantissa.rstrip("0") or "0"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _quoted_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if char == " " or char.isprintable():
        return char
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
