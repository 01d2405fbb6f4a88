"""What is to be fetched, from where, and how far that is: values that sites, downloader and server share.

Knows no HTTP and no files.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Access:
    """How a place may be reached. All of it comes from the user, none from what a server says.

    `private`: it may be at an address that is not public (the loopback, the LAN). `insecure`: nobody checks
    its certificate. `ca_file`: certificates that count besides the system's. `proxy`: to be used for it
    whatever the environment says; "" is none at all, None leaves it to the environment.
    """

    private: bool = False
    insecure: bool = False
    ca_file: str = ""
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One place that has the bytes.

    `mirror` is what progress shows. `headers` go to this URL's origin alone, never to where it redirects.
    `renew` gives a fresh source where a signed address has run out or a token is refused. `connections` is
    how many this place allows at once; 0 leaves it to the limits.
    """

    url: str
    mirror: str
    headers: Mapping[str, str] = field(default_factory=dict)
    renew: "Callable[[], Awaitable[Source]] | None" = None
    etag: str = ""
    connections: int = 0
    access: Access = Access()

    @property
    def host(self) -> str:
        """Host and port as they stand in the address, without user or password."""
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One blob. `name` is for messages; sources stand in order of preference.

    `digest` is "sha256:" and 64 hex digits; None where nobody knows it beforehand: then size and ETag must
    hold its parts together. `starts_with`: what a right file can begin with, to notice a wrong one early.
    """

    name: str
    sources: tuple[Source, ...]
    digest: str | None = None
    size: int | None = None
    starts_with: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError(f"{self.name}: nothing to fetch it from")
        if self.size is not None and self.size < 0:
            raise ValueError(f"{self.name}: a size cannot be negative")


@dataclass(frozen=True, slots=True)
class Transfer:
    """How far a blob has got. `completed` never runs backwards, and never beyond `total` where that is known.

    `note` says what is being waited for, or what is done other than fetching ("verifying", "repairing").
    """

    completed: int
    total: int | None
    bytes_per_second: float
    eta_seconds: float | None
    mirror: str
    note: str = ""
