"""Go's strings as Python's: bytes that are no UTF-8, quotes and escapes, what html, js and urlquery write.

A Go string is bytes. Here it is text in which a byte that belongs to no character stands as U+DC80 to U+DCFF,
as with Python's `surrogateescape`; only slices of strings and escapes in constants make such bytes. Pure.
"""

import re
from urllib.parse import quote_plus

_SHORT = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
}  # fmt: skip
_HTML = str.maketrans({"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"})
_JS = {char: f"\\u{ord(char):04X}" for char in [*map(chr, range(0x20)), "<", ">", "&", "="]}
_JS_TABLE = str.maketrans({**_JS, "\\": "\\\\", "'": "\\'", '"': '\\"'})
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_LONE = re.compile("[\udc80-\udcff]")


def encoded(text: str) -> bytes:
    """The bytes of a Go string."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    """A Go string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def joined(text: str) -> str:
    """The same bytes, with those that have come together to characters as such."""
    return text if text.isascii() or not _LONE.search(text) else decoded(encoded(text))


def clean(text: str) -> str:
    """Text for others than Go: what is no character is U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return encoded(text).decode("utf-8", "replace")
    return text


def byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(encoded(text))


def is_printable(char: str) -> bool:
    """Letters, marks, numbers, punctuation, symbols and the blank."""
    return char.isprintable()


def quoted(text: str, *, ascii_only: bool = False) -> str:
    """In double quotes, with Go's escapes."""
    return '"' + "".join(_escaped(char, '"', ascii_only) for char in text) + '"'


def quoted_rune(code: int, *, ascii_only: bool = False) -> str:
    """A code point in single quotes."""
    return "'" + _escaped(rune(code), "'", ascii_only) + "'"


def rune(code: int) -> str:
    """The character, U+FFFD for what is none."""
    return chr(code) if 0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF else "\ufffd"


def code_point(char: str) -> str:
    """`U+00E9 'é'`, the character itself only where it can be seen."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if is_printable(char) else "")


def _escaped(char: str, quote: str, ascii_only: bool) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if char == quote:
        return "\\" + char
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        char, code = "\ufffd", 0xFFFD
    if is_printable(char) and (code < 0x80 or not ascii_only):
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def html_escaped(text: str) -> str:
    return text.translate(_HTML)


def js_escaped(text: str) -> str:
    escaped = text.translate(_JS_TABLE)
    if escaped.isascii():
        return escaped
    return "".join(
        char if char.isascii() or is_printable(char) or _LONE.match(char) else f"\\u{ord(char):04X}"
        for char in escaped
    )


def query_escaped(text: str) -> str:
    return quote_plus(encoded(text))
