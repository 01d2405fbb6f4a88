"""What can go wrong on the way to a model's bytes.

    MirrorsError
    └── BadReference    what the user typed does not say where a model is

Grows with what this package can do; knows no status codes of our own API.
"""


class MirrorsError(Exception):
    """Root of everything that this package raises on purpose."""


class BadReference(MirrorsError):
    """A text that is no reference to a model; `str()` names the fault and the forms that are understood."""
