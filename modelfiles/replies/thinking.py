"""Splits thinking from content while the text is being written.

Rules, by state:
- BEFORE: white space and the opening tag are swallowed; any other text makes everything content, unchanged.
- OPENED: white space is swallowed, and one opening tag where the prompt had already written one.
- THINKING: up to the closing tag. White space goes out only when more text follows it.
- CLOSED: white space is swallowed, and one more closing tag.
- CONTENT: passed on unchanged to the end; tags in it are text.
Text that may be the beginning of a tag is held back until that is decided. Without a closing tag, all is
thinking.
"""

from collections.abc import Callable
from enum import Enum, auto

from modelfiles.replies.markers import sendable
from modelfiles.replies.pieces import Content, Thinking
from modelfiles.templates.tags import ThinkingTags

Part = Content | Thinking


class _State(Enum):
    BEFORE = auto()
    OPENED = auto()
    THINKING = auto()
    CLOSED = auto()
    CONTENT = auto()


class ThinkingSplitter:
    """One reply's splitter. `inside`: the prompt ended with the opening tag."""

    def __init__(self, tags: ThinkingTags, *, inside: bool) -> None:
        pairs = ((tags.open, tags.close), *tags.also)
        self._opens = tuple(pair[0] for pair in pairs)
        self._closes = tuple(pair[1] for pair in pairs)
        self._state = _State.OPENED if inside else _State.BEFORE
        self._held = ""
        self._final = False
        self._spare_open = inside
        self._spare_close = True
        # Each step looks at the text, may change the state, and returns what the next state shall look at;
        # None when it needs more.
        self._steps: dict[_State, Callable[[str, list[Part]], str | None]] = {
            _State.BEFORE: self._before,
            _State.OPENED: self._opened,
            _State.THINKING: self._thinking,
            _State.CLOSED: self._closed,
            _State.CONTENT: self._content,
        }

    @property
    def past_thinking(self) -> bool:
        """Whether no more thinking can come."""
        return self._state in (_State.CLOSED, _State.CONTENT)

    @property
    def in_content(self) -> bool:
        """Whether all that comes is content, as it is."""
        return self._state is _State.CONTENT

    def feed(self, text: str) -> list[Part]:
        """What is certain after `text` has been written too."""
        parts: list[Part] = []
        rest: str | None = self._held + text
        self._held = ""
        while rest:
            rest = self._steps[self._state](rest, parts)
        return parts

    def finish(self) -> list[Part]:
        """What was held back, now that nothing follows."""
        self._final = True
        return self.feed("")

    def _before(self, text: str, parts: list[Part]) -> str | None:
        stripped = text.lstrip()
        tag, undecided = self._beginning(stripped, self._opens)
        if undecided:
            self._held = text
            return None
        if tag:
            self._state = _State.OPENED
            return stripped[len(tag) :]
        self._state = _State.CONTENT
        return text

    def _opened(self, text: str, parts: list[Part]) -> str | None:
        stripped = text.lstrip()
        tag, undecided = self._beginning(stripped, self._opens if self._spare_open else ())
        if undecided:
            self._held = stripped
            return None
        if tag:
            self._spare_open = False
            return stripped[len(tag) :]
        self._state = _State.THINKING
        return stripped

    def _thinking(self, text: str, parts: list[Part]) -> str | None:
        ends = [(at, -len(close), close) for close in self._closes if (at := text.find(close)) >= 0]
        if ends:
            end, _, close = min(ends)
            _add(parts, Thinking(text[:end].rstrip()))
            self._state = _State.CLOSED
            return text[end + len(close) :]
        sent = len(text.rstrip()) if self._final else sendable(text, self._closes)
        _add(parts, Thinking(text[:sent]))
        self._held = "" if self._final else text[sent:]
        return None

    def _closed(self, text: str, parts: list[Part]) -> str | None:
        stripped = text.lstrip()
        tag, undecided = self._beginning(stripped, self._closes if self._spare_close else ())
        if undecided:
            self._held = stripped
            return None
        if tag:
            self._spare_close = False
            return stripped[len(tag) :]
        self._state = _State.CONTENT
        return stripped

    def _content(self, text: str, parts: list[Part]) -> str | None:
        parts.append(Content(text))
        return None

    def _beginning(self, stripped: str, tags: tuple[str, ...]) -> tuple[str, bool]:
        """Which of `tags` the text begins with, and whether more of it is needed to tell."""
        undecided = not self._final and (
            not stripped or any(len(stripped) < len(tag) and tag.startswith(stripped) for tag in tags)
        )
        return max((tag for tag in tags if stripped.startswith(tag)), key=len, default=""), undecided


def _add(parts: list[Part], part: Part) -> None:
    if part.text:
        parts.append(part)
