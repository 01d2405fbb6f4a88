"""Reads a whole reply: thinking first, then content with tool calls.

A call inside thinking that never closes ends the thinking just before it, because models forget the closing
tag there. If the tag comes after all, the call was a draft and is thinking. So from such a call on,
everything is held until one of the two is known.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Protocol

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.answer_marks import MarkDropper
from modelfiles.replies.blocks import Style
from modelfiles.replies.calls import CallScanner
from modelfiles.replies.generic import GenericScanner, GenericStyle
from modelfiles.replies.pieces import Content, Piece, Thinking
from modelfiles.replies.thinking import Part, ThinkingSplitter
from modelfiles.replies.toolcalls import STYLES
from modelfiles.replies.turns import TurnReader
from modelfiles.templates.tags import GLIMMER, ThinkingTags


class Scanner(Protocol):
    """Sorts what a model writes into text and calls. `failures`: why some stayed text."""

    failures: list[str]

    def feed(self, text: str) -> list[str | ToolCall]:
        """What is certain after `text` has been written too."""
        ...

    def finish(self) -> list[str | ToolCall]:
        """What was held back, now that nothing follows."""
        ...


class ReplyReader:
    """One reply's reader. Without tags nothing is thinking; without a style or tools nothing is a call.

    `inside`: the prompt ended with the opening tag, so the model goes on inside its thinking.
    """

    def __init__(
        self,
        tags: ThinkingTags | None = None,
        style: Style | GenericStyle | None = None,
        tools: tuple[Tool, ...] = (),
        *,
        inside: bool = False,
    ) -> None:
        self._turns = _turn_reader(tags, style, tools, inside=inside)
        self._splitter = ThinkingSplitter(tags, inside=inside) if tags else None
        self._calls = _scanner(style, tools) if style and tools else None
        # What is a call by its place alone is none inside thinking.
        drafts = isinstance(style, Style) and tags and tools
        self._draft = _Draft(_scanner(style, tools, starts=False)) if style and drafts else None
        self._dropper = MarkDropper(tags.dropped) if tags and tags.dropped else None
        self._direct = False  # whether only calls are still to be looked for

    @property
    def failures(self) -> tuple[str, ...]:
        """Why blocks that look like calls stayed in the text."""
        source = self._turns or self._calls
        return tuple(source.failures) if source else ()

    def feed(self, text: str) -> list[Piece]:
        """What is certain after `text` has been written too."""
        if self._direct:
            return self._content(text)
        if self._turns is not None:
            return self._turns.feed(text)
        if self._splitter is None:
            return self._content(text)
        pieces = self._sort(self._splitter.feed(text))
        if self._draft and self._splitter.past_thinking:
            # Where content followed the closing tag at once, it has been flushed in front of it already.
            pieces += self._draft.as_thinking()
        self._direct = self._splitter.in_content and self._dropper is None
        return self._dropped(pieces)

    def finish(self) -> list[Piece]:
        """What was held back, now that nothing follows."""
        if self._turns is not None:
            return self._turns.finish()
        pieces: list[Piece] = []
        if self._splitter is not None:
            pieces += self._sort(self._splitter.finish())
        if self._draft:
            pieces += self._draft.finish()
        if self._calls:
            pieces += _pieces(self._calls.finish())
        return self._dropped(pieces, final=True)

    def _dropped(self, pieces: list[Piece], *, final: bool = False) -> list[Piece]:
        """Without the marks around the answer."""
        dropper = self._dropper
        if dropper is None:
            return pieces
        kept: list[Piece] = []
        for piece in pieces:
            if not isinstance(piece, Content):
                kept += [Content(text)] if (text := dropper.finish()) else []
                kept.append(piece)
            elif text := dropper.feed(piece.text):
                kept.append(Content(text))
        if final and (text := dropper.finish()):
            kept.append(Content(text))
        return kept

    def _sort(self, parts: Iterable[Part]) -> list[Piece]:
        pieces: list[Piece] = []
        for part in parts:
            if isinstance(part, Content):
                if self._draft:
                    pieces += self._draft.as_thinking()
                pieces += self._content(part.text)
            elif self._draft:
                pieces += self._draft.feed(part.text)
            else:
                pieces.append(part)
        return pieces

    def _content(self, text: str) -> list[Piece]:
        if self._calls is None:
            return [Content(text)] if text else []
        found = self._calls.feed(text)
        return _pieces(found) if found else []


def _scanner(style: Style | GenericStyle, tools: tuple[Tool, ...], *, starts: bool = True) -> Scanner:
    if isinstance(style, Style):
        return CallScanner(style, tools, starts=starts)
    return GenericScanner(style, tools)


def _turn_reader(
    tags: ThinkingTags | None, style: Style | GenericStyle | None, tools: tuple[Tool, ...], *, inside: bool
) -> TurnReader | None:
    """For replies that are messages with headers, as the style or the tags say."""
    turns = style.turns if isinstance(style, Style) else None
    if turns is None and tags is not None and tags.turns:
        turns = STYLES["glimmer" if tags == GLIMMER else "openai"].turns
    return TurnReader(turns, tools, inside=inside) if turns else None


class _Draft:
    """Thinking that may hold a call. Text goes out as thinking until the first call in it."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._unsent: list[str] = []
        self._found: list[str | ToolCall] = []

    def feed(self, text: str) -> list[Piece]:
        self._unsent.append(text)
        return self._send(self._scanner.feed(text))

    def as_thinking(self) -> list[Piece]:
        """The thinking was closed, so there was no call in it."""
        text = "".join(self._unsent)
        self._unsent.clear()
        self._found.clear()
        return [Thinking(text)] if text else []

    def finish(self) -> list[Piece]:
        """The thinking was never closed: a call in it counts, with all that follows."""
        if not self._unsent and not self._found:
            return []
        sent = self._send(self._scanner.finish())
        if not self._found:
            return sent + self.as_thinking()
        pieces = sent
        for found in self._found:
            # The scanner took the text behind the call for more of the text before it, which was thinking.
            begins = isinstance(found, str) and not any(isinstance(piece, Content) for piece in pieces)
            pieces += _pieces([found.lstrip() if isinstance(found, str) and begins else found])
        return pieces

    def _send(self, found: list[str | ToolCall]) -> list[Piece]:
        """Thinking up to the first call; that and all after it are kept."""
        if self._found:
            self._found += found
            return []
        texts = list(takewhile(lambda item: isinstance(item, str), found))
        self._found += found[len(texts) :]
        sent = "".join(text for text in texts if isinstance(text, str))
        if not sent:
            return []
        self._unsent = ["".join(self._unsent)[len(sent) :]]
        return [Thinking(sent)]


def _pieces(found: Iterable[str | ToolCall]) -> list[Piece]:
    return [Content(item) if isinstance(item, str) else item for item in found]
