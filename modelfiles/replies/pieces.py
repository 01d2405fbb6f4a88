"""What a reply is made of, beside `modelfiles.messages.ToolCall`."""

from dataclasses import dataclass
from typing import TypeAlias

from modelfiles.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Content:
    """Text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Text that the model wrote for itself."""

    text: str


Piece: TypeAlias = Content | Thinking | ToolCall
