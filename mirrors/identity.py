"""The key by which registries know this user: an Ed25519 key pair in OpenSSH's files, as Ollama keeps it.

Reads `id_ed25519` if it is there and makes it, with its `.pub`, when it is first needed. Format of the
private file: openssh-key-v1 (PROTOCOL.key of OpenSSH), unencrypted. Knows nothing of requests.
"""

import base64
import os
import secrets
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mirrors.ed25519 import public_key, sign
from mirrors.errors import BadSetting

_BEGIN, _END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
_MAGIC = b"openssh-key-v1\0"
_KIND = b"ssh-ed25519"
_BLOCK_BYTES = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """A key pair; `seed` is its secret half, 32 bytes, and is never shown."""

    seed: bytes

    def __repr__(self) -> str:
        return f"Identity({self.public_text})"

    @property
    def public_blob(self) -> bytes:
        """The public key in OpenSSH's wire format."""
        return _string(_KIND) + _string(public_key(self.seed))

    @property
    def public_text(self) -> str:
        """The public key's base64 text: what stands in the second column of a `.pub` file."""
        return base64.b64encode(self.public_blob).decode()

    def sign(self, message: bytes) -> bytes:
        """64 bytes."""
        return sign(self.seed, message)


def identity_at(path: Path) -> Identity:
    """The key in this file, which is made, readable by its owner alone, if it is not there. BadSetting."""
    with suppress(FileNotFoundError):
        return _read(path)
    made = Identity(secrets.token_bytes(32))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_new(path, private_file(made), 0o600)
        path.with_name(path.name + ".pub").write_text(f"ssh-ed25519 {made.public_text}\n")
    except FileExistsError:
        return _read(path)  # someone else was quicker
    except OSError as error:
        raise BadSetting(f"cannot make the key {path}: {(error.strerror or str(error)).lower()}") from error
    return made


def private_file(identity: Identity) -> str:
    """The text of an OpenSSH private key file that holds this key."""
    known = public_key(identity.seed)
    check = secrets.token_bytes(4)
    secret = check + check + _string(_KIND) + _string(known) + _string(identity.seed + known) + _string(b"")
    secret += bytes(range(1, 1 + -len(secret) % _BLOCK_BYTES))
    nothing = _string(b"none") + _string(b"none") + _string(b"")
    data = _MAGIC + nothing + struct.pack(">I", 1) + _string(identity.public_blob) + _string(secret)
    text = base64.b64encode(data).decode()
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join([_BEGIN, *lines, _END, ""])


def read_private_file(text: str) -> Identity:
    """The key in an OpenSSH private key file. ValueError for what is none, or is of another kind."""
    body = text.strip()
    if not body.startswith(_BEGIN) or not body.endswith(_END):
        raise ValueError("it is no OpenSSH private key")
    data = base64.b64decode("".join(body[len(_BEGIN) : -len(_END)].split()), validate=True)
    if not data.startswith(_MAGIC):
        raise ValueError("it is no OpenSSH private key")
    cipher, rest = _take(data[len(_MAGIC) :])
    if cipher != b"none":
        raise ValueError("it is protected by a passphrase")
    for _ in range(2):
        _, rest = _take(rest)
    _, rest = _take(rest[4:])
    secret, _ = _take(rest)
    kind, rest = _take(secret[8:])
    if kind != _KIND:
        raise ValueError("it is of another kind than ed25519")
    _, rest = _take(rest)
    pair, _ = _take(rest)
    return Identity(pair[:32])


def _read(path: Path) -> Identity:
    try:
        return read_private_file(path.read_text("ascii"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadSetting(f"cannot use the key {path}: {reason}") from error


def _write_new(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes) -> tuple[bytes, bytes]:
    """The first string of the wire format, and what follows."""
    if len(data) < 4:
        raise ValueError("it is cut short")
    (length,) = struct.unpack(">I", data[:4])
    if len(data) < 4 + length:
        raise ValueError("it is cut short")
    return data[4 : 4 + length], data[4 + length :]
