"""Headers of a tar: 512 bytes in, a checked entry out, and back. Pure.

Of POSIX's format (pax) and GNU's, as far as regular files and folders need them: ustar headers, pax records
`path` and `size`, GNU's long names and binary sizes. Everything else, links and devices first, is refused.
"""

from dataclasses import dataclass

from mirrors.errors import BadArchive

BLOCK = 512
FILE, FOLDER, PAX, LONG_NAME = "0", "5", "x", "L"
LARGEST_EXTRA = 64 << 10

_OCTAL_LIMIT = 1 << 33
_KINDS = {"\0": FILE, "0": FILE, "5": FOLDER, "x": PAX, "L": LONG_NAME}
_REFUSED = {
    "1": "a hard link", "2": "a symbolic link", "3": "a device", "4": "a device", "6": "a pipe",
    "S": "a sparse file", "g": "a global header",
}  # fmt: skip
_KNOWN_RECORDS = ("path", "size")
_TIMES = ("mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment")


@dataclass(frozen=True, slots=True)
class Entry:
    """One header. `size` is that of what follows, in bytes."""

    name: str
    kind: str
    size: int

    @property
    def padding(self) -> int:
        return -self.size % BLOCK


def parse_header(block: bytes) -> Entry | None:
    """None for the empty block that ends an archive. BadArchive."""
    if not any(block):
        return None
    if _number(block[148:156]) != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise BadArchive("the archive is damaged: a header's checksum is wrong")
    letter = chr(block[156])
    if letter not in _KINDS:
        raise BadArchive(f"the archive holds {_REFUSED.get(letter, f'an entry of kind {letter!r}')}")
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345]:
        name = f"{_text(block[345:500])}/{name}"
    entry = Entry(name, _KINDS[letter], _number(block[124:136]))
    if entry.kind in (PAX, LONG_NAME) and entry.size > LARGEST_EXTRA:
        raise BadArchive(f"the archive has a name of {entry.size} bytes")
    return entry


def with_pax(entry: Entry, records: bytes) -> Entry:
    """An entry whose header was too small for it. BadArchive."""
    values = _records(records)
    size = values.get("size", str(entry.size))
    if not size.isascii() or not size.isdigit() or len(size) > 19:
        raise BadArchive("the archive is damaged: a size is no number")
    return Entry(values.get("path", entry.name), entry.kind, int(size))


def make_header(name: str, size: int) -> bytes:
    """The header of a regular file, with nothing in it that differs between two machines."""
    extra = {}
    if len(name) > 100:
        extra["path"] = name
    if size >= _OCTAL_LIMIT:
        extra["size"] = str(size)
    if not extra:
        return _ustar(name, size, FILE)
    records = b"".join(_record(key, value) for key, value in extra.items())
    long = _ustar("pax", len(records), PAX) + records + bytes(-len(records) % BLOCK)
    return long + _ustar(name[:100], 0 if "size" in extra else size, FILE)


def _ustar(name: str, size: int, kind: str) -> bytes:
    fields = (
        name.encode().ljust(100, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size,
        b"%011o\0" % 0, b" " * 8, kind.encode(), bytes(100), b"ustar\x0000", bytes(64), b"0000000\0",
        b"0000000\0", bytes(167),
    )  # fmt: skip
    block = b"".join(fields)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def _record(key: str, value: str) -> bytes:
    """Its own length, counted with itself, stands before it."""
    body = f" {key}={value}\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return f"{length}{body}".encode()


def _records(data: bytes) -> dict[str, str]:
    values: dict[str, str] = {}
    while data:
        digits, blank, _ = data.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 7 else 0
        record = data[len(digits) + 1 : length - 1]
        if not blank or not len(digits) + 2 < length <= len(data) or data[length - 1 : length] != b"\n":
            raise BadArchive("the archive is damaged: a long header is none")
        key, _, value = record.decode("utf-8", "replace").partition("=")
        if key in _KNOWN_RECORDS:
            values[key] = value
        elif key not in _TIMES:
            raise BadArchive(f"the archive holds a file with {key!r:.60}, which no archive of models has")
        data = data[length:]
    return values


def _number(field: bytes) -> int:
    """Octal digits, or GNU's binary form for large ones."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    text = field.strip(b" \0")
    if not all(0x30 <= byte <= 0x37 for byte in text):
        raise BadArchive("the archive is damaged: a number in a header is none")
    return int(text or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
