"""What a check of `shim doctor` found: one value a line of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table. `remedy` says what to do next; a `failed` one means that no model can run."""

    name: str
    state: State
    found: str
    remedy: str = ""
