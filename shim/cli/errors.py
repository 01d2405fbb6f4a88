"""What ends a command with a message and exit code 1.

CommandError
 +-- NoServer        nothing answers at the address
 +-- ServerRefused   the server answered with an error, at once or in the middle of a stream
 +-- ServerLost      the connection ended before the answer was complete
"""

from shim.errors import ShimError


class CommandError(ShimError):
    """A command cannot be carried out. `hint` says what to do next and is printed on a line of its own."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NoServer(CommandError):
    """Nothing answers at `address`."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"could not connect to a server at {address} ({reason}), run 'shim serve' to start it"
        )


class ServerRefused(CommandError):
    """The server answered with an error; the text is the server's own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def not_found(self) -> bool:
        return self.status == 404 or "not found" in str(self)


class ServerLost(CommandError):
    """The connection ended in the middle of an answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the server closed the connection before the answer was complete ({reason})",
                         "what the server wrote to its log says why")  # fmt: skip
