"""How much a download may take: connections, bytes a second, patience. Values, and a bucket that is given the
time.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes. 0 means no limit for `bytes_per_second`, `give_up_seconds` and `quota_bytes`.

    `first_byte` and `between_reads` are patience with one connection; the latter doubles with every stall of
    a source, up to `longest_between_reads`, so that very slow lines still work. `reserve_bytes` is what stays
    free on the disk. `quota_bytes` is how much all unfinished files together may hold.
    """

    connections: int = 16
    connections_of_host: int = 16
    connections_in_all: int = 24
    first_connections: int = 4
    bytes_per_second: float = 0.0
    connect_seconds: float = 10.0
    first_byte_seconds: float = 30.0
    between_reads_seconds: float = 15.0
    longest_between_reads_seconds: float = 60.0
    give_up_seconds: float = 600.0
    hold_seconds: float = 30.0
    ramp_seconds: float = 1.0
    slow_seconds: float = 10.0
    reserve_bytes: int = 256 << 20
    quota_bytes: int = 0
    keep_days: float = 14.0

    def __post_init__(self) -> None:
        if min(self.connections, self.connections_of_host, self.connections_in_all) < 1:
            raise ValueError("at least one connection must be allowed")


class Bucket:
    """Tokens for bytes. `take` says how long to wait before the next read; the bytes are already here."""

    BURST_SECONDS = 0.25

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._free_at = 0.0  # when everything taken so far has been paid for

    def take(self, count: int, now: float) -> float:
        if self._rate <= 0:
            return 0.0
        self._free_at = max(self._free_at, now - self.BURST_SECONDS) + count / self._rate
        return max(0.0, self._free_at - now)

    def brakes(self, now: float) -> bool:
        """Whether this limit is what holds things up; then more connections would not help."""
        return self._rate > 0 and self._free_at > now - self.BURST_SECONDS
