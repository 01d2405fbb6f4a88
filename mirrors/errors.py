"""What can go wrong on the way to a model's bytes.

    MirrorsError
    ├── BadReference      what the user typed does not say where a model is
    ├── BadSetting        a list of mirrors or a key that cannot be used
    ├── BadAnswer         an answer that breaks the protocol, or whose sizes are absurd
    ├── NoChoice          none, or more than one, of a repository's files fits
    ├── PushFailed        a registry does not take a model
    ├── BadImport         a path that holds nothing to import
    ├── BadArchive        an archive that breaks the rules of `mirrors.archive`
    │   └── CutArchive    one that ends too early
    └── DownloadFailed    a blob cannot be had; `reasons` has one line for each source
        ├── NotThere          no source has it
        ├── NotPermitted      sources have it and do not give it to us
        ├── Unreachable       nothing came for too long, or nobody could be talked to
        ├── WrongContent      what came is not what its digest says, and repairing did not help
        ├── NoRoom            the disk is full, or will be; `needed` and `free` in bytes
        ├── DiskFailed        the disk refuses for another reason
        └── Refused           an address or an answer that we do not follow, for safety

Grows with what this package can do; knows no status codes of our own API.
"""


class MirrorsError(Exception):
    """Root of everything that this package raises on purpose."""


class BadReference(MirrorsError):
    """A text that is no reference to a model; `str()` names the fault and the forms that are understood."""


class BadSetting(MirrorsError):
    """A list of mirrors, an entry of one, or a key that cannot be used; the text says where it stands."""


class BadAnswer(MirrorsError):
    """What the other side sent is not what the protocol asks for."""


class NoChoice(MirrorsError):
    """No file of a repository fits, or several do; the text lists those that there are."""


class PushFailed(MirrorsError):
    """A registry does not take a model, or a part of it; the text has its words."""


class BadImport(MirrorsError):
    """A path that does not exist, cannot be read, or has no known layout."""


class BadArchive(MirrorsError):
    """An archive that is none of ours, is damaged, or would write where or what it must not."""


class CutArchive(BadArchive):
    """The archive ends before everything that its index promises."""


class DownloadFailed(MirrorsError):
    """A blob that cannot be had. `str()` says what and why in one sentence, then source by source."""

    def __init__(self, text: str, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(text + "".join(f"; {reason}" for reason in reasons))
        self.reasons = reasons


class NotThere(DownloadFailed):
    """No source has the blob."""


class NotPermitted(DownloadFailed):
    """Credentials are missing, wrong, or do not suffice."""


class Unreachable(DownloadFailed):
    """Name, connection, TLS or proxy failed, or nothing came for too long. Trying again can help."""


class WrongContent(DownloadFailed):
    """The bytes do not have the digest that was promised."""


class Refused(DownloadFailed):
    """An address that may not be asked, or an answer that may not be followed."""


class DiskFailed(DownloadFailed):
    """The place for unfinished files cannot be written or read."""


class NoRoom(DiskFailed):
    """Not enough space, or a quota is used up."""

    def __init__(self, text: str, needed: int = 0, free: int = 0) -> None:
        super().__init__(text)
        self.needed = needed
        self.free = free
