"""Values as Go's `fmt` prints them: one value for a verb, and what print and println make of several.

Everything that is written is paid for at once, so that no list of arguments grows beyond what a rendering may
cost. Knows nothing of format strings.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from modelfiles.templates.go.methods import text_of
from modelfiles.templates.go.numerals import Flags, complex_number, floating, integer
from modelfiles.templates.go.quoting import encoded, quoted
from modelfiles.templates.go.values import (
    BYTES,
    INVALID,
    UINT8,
    Function,
    GoType,
    Map,
    Pointer,
    Slice,
    Struct,
    Uint8,
    Value,
    elements_of,
    entries_of,
    is_nil,
    sorted_entries,
    type_of,
)

Charge: TypeAlias = Callable[[int], None]

_STRING_VERBS = "vsxXq"
_NIL = "<nil>"
_ADDRESS = 0xC000012000  # stands for all, since real ones differ from run to run


def print_text(values: Sequence[Value], charge: Charge) -> str:
    """Like print: a blank between two operands neither of which is a string."""
    printer = Printer(charge)
    before = True
    for value in values:
        is_string = isinstance(value, str)
        if not is_string and not before:
            printer.write(" ")
        printer.argument(value, "v")
        before = is_string
    return printer.text()


def println_text(values: Iterable[Value], charge: Charge) -> str:
    """Like println: blanks between all, and a newline."""
    printer = Printer(charge)
    for index, value in enumerate(values):
        printer.write(" " if index else "")
        printer.argument(value, "v")
    printer.write("\n")
    return printer.text()


def pointed_to(value: Value) -> Value:
    """What an action prints for a value: that to which a pointer points; words for nothing."""
    if isinstance(value, Struct) and value.pointer:
        return Struct(value.type, value.fields)
    return "<no value>" if value is None or value is INVALID else value


class Printer:
    """Collects text; `flags` are those of the next value."""

    def __init__(self, charge: Charge) -> None:
        self.flags = Flags()
        self._charge = charge
        self._pieces: list[str] = []
        self._in_error = False

    def write(self, text: str) -> None:
        self._charge(len(text))
        self._pieces.append(text)

    def text(self) -> str:
        return "".join(self._pieces)

    def argument(self, value: Value, verb: str) -> None:
        """One argument of a print function."""
        if value is None or value is INVALID:
            self._no_value(verb)
        elif verb == "T":
            self.write(self.flags.pad(self._cut(type_of(value).name)))
        elif verb == "p":
            self._pointer(value, verb)
        elif isinstance(value, Slice) and value.type is BYTES and verb in "vd":
            self._byte_list(value, verb)
        elif not self._by_method(value, verb):
            self._value(value, verb, 0)

    def _no_value(self, verb: str) -> None:
        if verb in "Tv":
            self.write(self.flags.pad(_NIL))
        else:
            self.write(f"%!{verb}({_NIL})")

    def _by_method(self, value: Value, verb: str) -> bool:
        """Whether its method String, or the lack of any for `%w`, has settled the matter."""
        if self._in_error:
            return False
        if verb == "w":
            self._bad_verb(value, verb)
            return True
        if self.flags.go_syntax or verb not in _STRING_VERBS or not isinstance(value, Slice | Map | Struct):
            return False
        text = None if isinstance(value, Struct) and value.pointer else text_of(value, type_of(value))
        if text is not None:
            self._string(text, verb)
        return text is not None

    def _bad_verb(self, value: Value, verb: str) -> None:
        self._in_error = True
        self.write(f"%!{verb}({type_of(value).name}=")
        self.argument(value, "v")
        self.write(")")
        self._in_error = False

    def _value(self, value: Value, verb: str, depth: int) -> None:
        if depth and (value is None or value is INVALID):
            self.write("interface {}(nil)" if self.flags.go_syntax else _NIL)
            return
        if depth and self._by_method(value, verb):
            return
        if isinstance(value, str):
            self._string(value, verb)
        elif isinstance(value, bool | int | float | complex):
            self._plain(value, verb)
        elif isinstance(value, Struct):
            self._struct(value, verb, depth)
        elif isinstance(value, Pointer | Function):
            self._reference(value, verb, depth)
        elif (entries := entries_of(value)) is not None:
            self._map(type_of(value), None if is_nil(value) else sorted_entries(entries), verb, depth)
        else:
            self._slice(value, verb, depth)

    def _plain(self, value: complex, verb: str) -> None:
        """A bool or a number."""
        text: str | None
        if isinstance(value, bool):
            text = self.flags.pad("true" if value else "false") if verb in "tv" else None
        elif isinstance(value, Uint8) and verb == "v" and self.flags.go_syntax:
            text = self._hexadecimal(value, prefixed=True)
        elif isinstance(value, int):
            text = integer(value, verb, self.flags)
        elif isinstance(value, float):
            text = floating(value, verb, self.flags)
        else:
            text = complex_number(value, verb, self.flags)
        if text is None:
            self._bad_verb(value, verb)
        else:
            self.write(text)

    def _string(self, text: str, verb: str) -> None:
        flags = self.flags
        if verb == "s" or (verb == "v" and not flags.go_syntax):
            self.write(flags.pad(self._cut(text)))
        elif verb in "qv":
            self.write(flags.pad(self._quoted(self._cut(text))))
        elif verb in "xX":
            self.write(self._hexadecimal_bytes(encoded(text), verb))
        else:
            self._bad_verb(text, verb)

    def _cut(self, text: str) -> str:
        return text if self.flags.precision is None else text[: self.flags.precision]

    def _quoted(self, text: str) -> str:
        if self.flags.sharp and _can_backquote(text):
            return f"`{text}`"
        return quoted(text, ascii_only=self.flags.plus)

    def _hexadecimal_bytes(self, data: bytes, verb: str) -> str:
        flags = self.flags
        data = data if flags.precision is None else data[: flags.precision]
        if not data:
            return flags.pad("")
        joint = (" 0" + verb if flags.sharp else " ") if flags.space else ""
        pairs = joint.join(f"{byte:02{verb}}" for byte in data)
        return flags.pad(f"0{verb}{pairs}" if flags.sharp else pairs)

    def _slice(self, value: Value, verb: str, depth: int) -> None:
        elements, type_ = elements_of(value) or (), type_of(value)
        if type_.element is UINT8 and verb in "sqxX":
            self._bytes(bytes(byte for byte in elements if isinstance(byte, int)), verb)
        elif self.flags.go_syntax and is_nil(value):
            self.write(f"{type_.name}(nil)")
        else:
            opening, joint, closing = self._brackets(type_, "[", "]")
            self.write(opening)
            for index, element in enumerate(elements):
                self.write(joint if index else "")
                self._value(element, verb, depth + 1)
            self.write(closing)

    def _bytes(self, data: bytes, verb: str) -> None:
        self._string(data.decode("utf-8", "surrogateescape"), verb)

    def _byte_list(self, value: Slice, verb: str) -> None:
        """`[]byte` itself, which `fmt` knows without looking at its type."""
        opening, joint, closing = ("[]byte{", ", ", "}") if self.flags.go_syntax else ("[", " ", "]")
        self.write(opening)
        for index, byte in enumerate(value):
            self.write(joint if index else "")
            self._plain(byte if isinstance(byte, Uint8) else Uint8(0), verb)
        self.write(closing)

    def _brackets(self, type_: GoType, opening: str, closing: str) -> tuple[str, str, str]:
        return (f"{type_.name}{{", ", ", "}") if self.flags.go_syntax else (opening, " ", closing)

    def _map(self, type_: GoType, entries: list[tuple[str, Value]] | None, verb: str, depth: int) -> None:
        if entries is None and self.flags.go_syntax:
            self.write(f"{type_.name}(nil)")
            return
        opening, joint, closing = self._brackets(type_, "map[", "]")
        self.write(opening)
        for index, (key, element) in enumerate(entries or ()):
            self.write(joint if index else "")
            self._value(key, verb, depth + 1)
            self.write(":")
            self._value(element, verb, depth + 1)
        self.write(closing)

    def _struct(self, value: Struct, verb: str, depth: int) -> None:
        if value.pointer and depth:
            self._pointer(value, verb)
            return
        if value.pointer:
            self.write("&")
            depth += 1
        opening, joint, closing = self._brackets(value.type, "{", "}")
        self.write(opening)
        for index, field in enumerate(value.type.fields):
            self.write(joint if index else "")
            self.write(f"{field.name}:" if self.flags.names or self.flags.go_syntax else "")
            self._value(value.fields[field.name], verb, depth + 1)
        self.write(closing)

    def _reference(self, value: Pointer | Function, verb: str, depth: int) -> None:
        if isinstance(value, Pointer) and value and not depth:
            # A struct whose only field is a pointer
            self.write("&{")
            self._pointer(value, verb)
            self.write("}")
        else:
            self._pointer(value, verb)

    def _pointer(self, value: Value, verb: str) -> None:
        kind = type_of(value).kind
        if kind not in ("slice", "map", "pointer", "func") or verb not in "vpbodxX":
            self._bad_verb(value, verb)
            return
        address = 0 if is_nil(value) else _ADDRESS
        if verb == "v" and self.flags.go_syntax:
            shown = self._hexadecimal(address, prefixed=True) if address else "nil"
            self.write(f"({type_of(value).name})({shown})")
        elif verb == "v" and not address:
            self.write(self.flags.pad(_NIL))
        elif verb in "vp":
            self.write(self._hexadecimal(address, prefixed=not self.flags.sharp))
        else:
            self.write(integer(address, verb, self.flags) or "")

    def _hexadecimal(self, value: int, *, prefixed: bool) -> str:
        sharp, self.flags.sharp = self.flags.sharp, prefixed
        text = integer(value, "x", self.flags)
        self.flags.sharp = sharp
        return text or ""


def _can_backquote(text: str) -> bool:
    return all(
        char == "\t" or (ord(char) >= 0x20 and char not in "`\x7f\ufeff" and not "\ud800" <= char <= "\udfff")
        for char in text
    )
