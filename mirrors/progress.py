"""How far the fetching of one thing has got. Values only; whoever shows them decides how."""

from dataclasses import dataclass
from typing import Literal

Phase = Literal["waiting", "fetching", "verifying", "done"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done_bytes` of `total_bytes`; a total that is not known yet is 0."""

    phase: Phase
    done_bytes: int = 0
    total_bytes: int = 0

    def __post_init__(self) -> None:
        if self.done_bytes < 0 or self.total_bytes < 0:
            raise ValueError("bytes cannot be negative")
        if self.total_bytes and self.done_bytes > self.total_bytes:
            raise ValueError(f"{self.done_bytes} bytes done of {self.total_bytes}")

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None while the total is not known."""
        return self.done_bytes / self.total_bytes if self.total_bytes else None
