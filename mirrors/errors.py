"""What can go wrong on the way to a model's bytes.

    MirrorsError
    ├── BadReference    what the user typed does not say where a model is
    ├── BadSetting      a list of mirrors that cannot be read
    ├── NotThere        the other side has no such model or file
    │   └── NoChoice    a repository from whose files none can be chosen without guessing
    ├── Refused         the other side does not let us: no permission, too old a version, a forbidden address
    ├── Unreachable     nobody answers, or not in a way that any retry would mend
    └── BadAnswer       an answer that breaks the protocol, or whose sizes are absurd

Grows with what this package can do; knows no status codes of our own API.
"""


class MirrorsError(Exception):
    """Root of everything that this package raises on purpose."""


class BadReference(MirrorsError):
    """A text that is no reference to a model; `str()` names the fault and the forms that are understood."""


class BadSetting(MirrorsError):
    """A list of mirrors, or an entry of one, that cannot be used; the text says where it stands."""


class NotThere(MirrorsError):
    """No such model, repository or file on the other side."""


class NoChoice(NotThere):
    """None, or more than one, of a repository's files fits; the text lists those that there are."""


class Refused(MirrorsError):
    """The other side, or our own rules about addresses, do not allow it; trying again is no use."""


class Unreachable(MirrorsError):
    """No connection, or no usable answer; the text names host and cause."""


class BadAnswer(MirrorsError):
    """What the other side sent is not what the protocol asks for."""
