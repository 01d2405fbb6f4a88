"""GBNF, llama.cpp's grammar notation, made ready for llguidance's converter.

The converter knows neither comments behind a rule nor escapes by code point: both are taken out of the text
here. Written after https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md. Pure.
"""

from __future__ import annotations

import re

_PIECES = re.compile(
    r'"(?:\\.|[^"\\\n])*"'  # a literal
    r"|\[(?:\\.|[^\]\\\n])*\]"  # a character class
    r"|#[^\n]*"  # a comment
    r"|[^\"\[#]+|.",
    re.DOTALL,
)
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SPECIAL = frozenset("\\\"[]^-/'")  # characters that stay escapes, since they mean something where they stand


def plain_gbnf(text: str) -> str:
    """The grammar without comments, code points written as themselves. ValueError for one too large."""
    return "".join(map(_plain_piece, _PIECES.findall(text)))


def _plain_piece(piece: str) -> str:
    if piece.startswith("#"):
        return ""
    if piece.startswith(('"', "[")) and len(piece) > 1:
        return _CODE.sub(_plain_code, piece)
    return piece


def _plain_code(match: re.Match[str]) -> str:
    if match[4] is not None:
        return match[0]
    char = chr(int(match[1] or match[2] or match[3], 16))
    return char if char.isprintable() and char not in _SPECIAL and ord(char) >= 0x80 else match[0]
