"""`<function=…>` and `<parameter=…>`: Qwen3 Coder, Qwen 3.5 and later, Nemotron 3 and others.

Values are written as they are, so they may quote this very markup. A tag inside a value counts only where the
structure allows it:
- `</parameter>` closes the value if a parameter, the function's end, the block's end or nothing follows.
- `<parameter=K>` closes it only at the start of a line, for a K that is declared and not yet given.
- `</function>` closes it if the block's end, another function or nothing follows.
- `</tool_call>` never does.
A block may hold several functions, or JSON instead. What is no call stays in the text, markers included.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import Enum, auto

from modelfiles.messages import ToolCall
from modelfiles.replies.argument_types import Schema, typed
from modelfiles.replies.blocks import BlockReader, Style, Verdict
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.toolcalls.hermes import CLOSE, OPEN, HermesReader

_FUNCTION = re.compile(r"<[ \t]*function[ \t]*=([^<>\n]*)>")
_FUNCTION_END = re.compile(r"<[ \t]*/[ \t]*function[ \t]*>")
_PARAMETER = re.compile(r"<[ \t]*parameter[ \t]*=([^<>\n]*)>")
_IN_VALUE = re.compile(r"<[ \t]*(?:/[ \t]*(?:parameter|function)[ \t]*>|parameter[ \t]*=)")
_AFTER_VALUE = r"<[ \t]*(?:parameter[ \t]*=|/[ \t]*function[ \t]*>)"
_AFTER_FUNCTION = r"<[ \t]*function[ \t]*="
# The beginning of any of these tags, as far as it may have been written.
_BEGUN = re.compile(r"<[ \t]*/?[ \t]*[a-z_:]{0,14}[ \t]*")
_OPENING_BEGUN = re.compile(r"<[ \t]*(?:function|parameter)[ \t]*=[^<>\n]{0,256}")


# Seed-OSS writes the same between tags of its own.
_SEED = ("<seed:tool_call>", "</seed:tool_call>")


class _State(Enum):
    FUNCTION = auto()  # a function, or the end of the block
    PARAMETER = auto()  # a parameter, or the end of the function
    VALUE = auto()  # the text of a parameter


class _Step(Enum):
    ON = auto()  # look again, in the state that holds now
    MORE = auto()  # nothing can be said until more text comes


class _Function:
    """One function while it is read: what is known of it, its arguments, and the value that is open."""

    def __init__(self, name: str | None, start: int, tools: DeclaredTools) -> None:
        self.name = name
        self.start = start
        self.broken = False
        self.arguments: dict[str, object] = {}
        self._key = ""
        self._value: list[str] = []
        self._last = ""
        self._schema: Schema = tools.schema(name) if name else {}
        self._properties = tools.properties(name) if name else {}

    def open_value(self, key: str) -> None:
        self._key = key
        self._value.clear()
        self._last = ""

    def take(self, text: str) -> None:
        """`text` belongs to the open value."""
        if text:
            self._value.append(text)
            self._last = text[-1]

    def close_value(self) -> None:
        """The first value of a key counts; one newline on either side belongs to the markup."""
        text = "".join(self._value).removeprefix("\n").removesuffix("\n")
        self.arguments.setdefault(self._key, typed(text, self._properties.get(self._key), self._schema))

    def expects(self, key: str, before: str) -> bool:
        """Whether a parameter `key` may begin in the middle of the open value, after the text `before`."""
        given = key in self.arguments or key == self._key
        declared = not self._properties or key in self._properties
        return (before[-1:] or self._last) in ("", "\n") and declared and not given

    def unwrapped(self) -> dict[str, object]:
        """The arguments. Some models write all of them as one object in a parameter of that name."""
        text = self.arguments.get("arguments")
        if len(self.arguments) > 1 or not isinstance(text, str) or "arguments" in self._properties:
            return self.arguments
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.arguments
        return value if isinstance(value, dict) else self.arguments


class CoderReader:
    """One block. `_window` is the text that is not yet read, always short while a long value goes by."""

    def __init__(self, tools: DeclaredTools, open_tag: str = OPEN, close: str = CLOSE) -> None:
        self._tools = tools
        self._open = open_tag
        self._close = close
        self._after_value = re.compile(rf"{_AFTER_VALUE}|{close}")
        self._after_function = re.compile(rf"{_AFTER_FUNCTION}|{close}")
        self._raw: list[str] = []
        self._fed = 0
        self._window = ""
        self._final = False
        self._wrapped: bool | None = None
        self._json: HermesReader | None = None
        self._calls: list[ToolCall] = []
        self._failed: list[tuple[int, int]] = []
        self._reason = ""
        self._function = _Function(None, 0, tools)
        self._state = _State.FUNCTION
        self._steps: Mapping[_State, Callable[[], Verdict | _Step]] = {
            _State.FUNCTION: self._between_functions,
            _State.PARAMETER: self._between_parameters,
            _State.VALUE: self._in_value,
        }

    def feed(self, text: str) -> Verdict | None:
        if self._json is not None:
            return self._json.feed(text)
        self._raw.append(text)
        self._fed += len(text)
        self._window += text
        if self._wrapped is None:
            self._wrapped = self._window.startswith(self._open)
            self._window = self._window.removeprefix(self._open)
        step: Verdict | _Step = _Step.ON
        while step is _Step.ON:
            step = self._steps[self._state]()
        return step if isinstance(step, Verdict) else None

    def finish(self) -> Verdict:
        if self._json is not None:
            return self._json.finish()
        self._final = True
        return self.feed("") or self._given_up()

    def _between_functions(self) -> Verdict | _Step:
        text = self._window.lstrip()
        if tag := _FUNCTION.match(text):
            return self._begin(tag[1], text[tag.end() :], self._fed - len(text))
        if text.startswith(self._close):
            return self._verdict(text[len(self._close) :])
        if text[:1] in ("{", "[") and not (self._calls or self._failed):
            self._json = HermesReader(self._tools, (self._open,), self._close)
            return self._json.feed("".join(self._raw)) or _Step.MORE
        if self._may_go_on(text) or (not self._final and self._close.startswith(text)):
            return _Step.MORE
        cut = self._final and self._calls and self._close.startswith(text)
        return self._verdict("" if cut else self._window)

    def _begin(self, written: str, rest: str, start: int) -> Verdict | _Step:
        name = self._tools.find(written)
        if name is None:
            self._reason = f"no tool of the name {written.strip()!r}"
        self._function = _Function(name, start, self._tools)
        self._window = rest
        self._state = _State.PARAMETER
        # Without the outer tag, only a declared name tells a call from text about calls.
        return _Step.ON if name or self._wrapped else self._verdict(rest)

    def _between_parameters(self) -> Verdict | _Step:
        text = self._window.lstrip()
        if tag := _PARAMETER.match(text):
            self._function.open_value(tag[1].strip())
            self._window = text[tag.end() :]
            self._state = _State.VALUE
        elif tag := _FUNCTION_END.match(text):
            self._end(text[tag.end() :], complete=True)
        elif self._after_function.match(text):
            self._end(text, complete=True)
        elif self._may_go_on(text) or (not self._final and self._close.startswith(text)):
            return _Step.MORE
        elif self._final and (not text or _BEGUN.fullmatch(text)):
            self._end("", complete=bool(self._function.arguments))
        else:
            self._reason = "text between the parameters"
            self._function.broken = True
            after = text.find("<", 1)
            self._window = text[after:] if after > 0 else ""
        return _Step.ON

    def _in_value(self) -> Verdict | _Step:
        tag = _IN_VALUE.search(self._window)
        if tag is None:
            begun = self._window.rfind("<")
            held = begun >= 0 and self._may_go_on(self._window[begun:])
            self._take(begun if held else len(self._window))
            return self._given_up() if self._final else _Step.MORE
        closes = self._closes(tag)
        if closes is None:
            self._take(tag.start())
            return _Step.MORE
        if not closes:
            self._take(tag.end())
            return _Step.ON
        self._take(tag.start())
        self._function.close_value()
        self._state = _State.PARAMETER
        if "/" in tag[0] and "parameter" in tag[0]:
            self._window = self._window[len(tag[0]) :]
        return _Step.ON

    def _closes(self, tag: re.Match[str]) -> bool | None:
        """Whether this tag closes the open value; None where that needs more text."""
        if "/" in tag[0]:
            expected = self._after_value if "parameter" in tag[0] else self._after_function
            return self._followed(self._window[tag.end() :].lstrip(), expected)
        opening = _PARAMETER.match(self._window, tag.start())
        if opening is None:
            return None if self._may_go_on(self._window[tag.start() :]) else False
        return self._function.expects(opening[1].strip(), self._window[: tag.start()])

    def _followed(self, text: str, expected: re.Pattern[str]) -> bool | None:
        if expected.match(text):
            return True
        if text and not _BEGUN.fullmatch(text):
            return False
        return True if self._final else None

    def _may_go_on(self, text: str) -> bool:
        """Whether `text` is, so far, the beginning of a tag, or nothing."""
        begun = not text or _BEGUN.fullmatch(text) or _OPENING_BEGUN.fullmatch(text)
        return bool(begun) and not self._final

    def _take(self, end: int) -> None:
        self._function.take(self._window[:end])
        self._window = self._window[end:]

    def _end(self, rest: str, *, complete: bool) -> None:
        """The function ended, and `rest` follows it."""
        self._window = rest
        self._state = _State.FUNCTION
        function = self._function
        if function.name is None or function.broken or not complete:
            self._failed.append((function.start, self._fed - len(rest)))
        else:
            self._calls.append(ToolCall(function.name, function.unwrapped()))

    def _verdict(self, rest: str) -> Verdict:
        raw = "".join(self._raw)
        if self._calls:
            kept = "\n".join(raw[start:end] for start, end in self._failed)
            return Verdict(tuple(self._calls), kept, rest, self._reason)
        return Verdict((), raw[: len(raw) - len(rest)], rest, self._reason or "no function in the block")

    def _given_up(self) -> Verdict:
        """A value never ended. What follows the first closing tag may hold other blocks."""
        self._reason = self._reason or "a value does not end"
        self._failed.append((self._function.start, self._fed))
        raw = "".join(self._raw)
        end = raw.find(self._close)
        return self._verdict("" if self._calls or end < 0 else raw[end + len(self._close) :])


def _open(tools: DeclaredTools) -> BlockReader:
    return CoderReader(tools)


def _open_seed(tools: DeclaredTools) -> BlockReader:
    return CoderReader(tools, *_SEED)


STYLES = (
    Style("qwen3_coder", (OPEN,), ("<function=",), _open),
    Style("seed_oss", (_SEED[0],), ("<function=",), _open_seed),
)
