"""What a reply is made of, beside `modelfiles.messages.ToolCall`."""

from typing import TypeAlias

from msgspec import Struct

from modelfiles.messages import ToolCall


class Content(Struct, frozen=True, gc=False):
    """Text for the user."""

    text: str


class Thinking(Struct, frozen=True, gc=False):
    """Text that the model wrote for itself."""

    text: str


Piece: TypeAlias = Content | Thinking | ToolCall
