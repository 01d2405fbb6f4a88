"""How long to leave a host alone after it failed. Pure: luck and the time of day are arguments."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
LONGEST_TOLD_SECONDS = 600.0
PROGRESS_BYTES = 1 << 20  # so much in one go, and earlier failures are forgotten

_RATE_LIMIT = re.compile(r"\bt\s*=\s*(\d{1,9})")


def told_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """What the server asks for: `Retry-After` (RFC 9110: seconds or a date), or `t` of `RateLimit`.

    `now` is the time of day in seconds since 1970. At most ten minutes; None if it says nothing.
    """
    seconds = _retry_after(headers.get("Retry-After", "").strip(), now)
    if seconds is None and (found := _RATE_LIMIT.search(headers.get("RateLimit", ""))):
        seconds = float(found[1])
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_TOLD_SECONDS)


def _retry_after(text: str, now: float) -> float | None:
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return parsedate_to_datetime(text).timestamp() - now if text else None
    except (ValueError, OverflowError):
        return None


@dataclass(slots=True)
class Backoff:
    """The failures of one source in a row. `chance` gives numbers from 0 to 1, so that clients do not march
    in step."""

    chance: Callable[[], float]
    failures: int = 0
    _since_failure: int = 0

    def failed(self, told: float | None = None) -> float:
        """Seconds to wait now. What the server asked for counts more than our own reckoning."""
        self.failures += 1
        self._since_failure = 0
        if told is not None:
            return told
        return self.chance() * min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(self.failures, 16))

    def received(self, count: int) -> None:
        self._since_failure += count
        if self._since_failure >= PROGRESS_BYTES:
            self.failures = 0
