"""Holds a conversation with the command line on a terminal, as a user does: keys in, screen out."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

CTRL_C, CTRL_D, UP, TAB, ENTER = "\x03", "\x04", "\x1b[A", "\t", "\r"
_SECONDS = 30.0
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07")


class Terminal:
    """A running `shim ARGUMENTS`; a context manager that ends it. `raw` is all that was written so far."""

    def __init__(
        self, arguments: list[str], environment: Mapping[str, str], folder: Path, columns: int = 100
    ) -> None:
        self._keys, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.raw = ""
        self._seen = 0
        self._undecoded = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _STARTER, *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, start_new_session=True,
            env={**environment, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._keys)

    def type(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def say(self, line: str) -> None:
        self.type(line + ENTER)

    def until(self, wanted: str) -> str:
        """What is shown up to `wanted`, from where the last wait ended."""
        deadline = time.monotonic() + _SECONDS
        while wanted not in self.shown[self._seen :]:
            assert self._read(deadline), f"{wanted!r} is never shown, but {self.shown[self._seen :]!r}"
        end = self.shown.index(wanted, self._seen) + len(wanted)
        shown, self._seen = self.shown[self._seen : end], end
        return shown

    def ended(self) -> int:
        """Wait until the command has ended; its exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._read(deadline):
            pass
        return self.process.wait(timeout=max(deadline - time.monotonic(), 1))

    @property
    def shown(self) -> str:
        """Without colours and movements of the cursor."""
        return _CONTROL.sub("", self.raw).replace("\r\n", "\n").replace("\r", "")

    def _read(self, deadline: float) -> bool:
        """More of the output; False at its end or when the time is over."""
        if not select.select([self._keys], [], [], max(deadline - time.monotonic(), 0))[0]:
            return False
        try:
            data = os.read(self._keys, 65536)
        except OSError:  # how Linux tells that the other end is closed
            return False
        self._undecoded += data
        whole = self._undecoded.decode("utf-8", "ignore")
        self._undecoded = self._undecoded[len(whole.encode()) :]
        self.raw += whole
        return bool(data)


# Takes the terminal as its own, so that Ctrl-C reaches it as a signal.
_STARTER = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "sys.argv[0] = 'shim'; from shim.cli.main import main; main()"
)
