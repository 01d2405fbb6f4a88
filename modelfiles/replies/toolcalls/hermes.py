"""`<tool_call>` around JSON: Hermes, Qwen 2.5 and 3, and many others.

One block may hold several objects, or a list of them. The closing tag may be missing at the end; so may the
end of the outer object. A block of which nothing is a call stays in the text, markers included.
"""

import re
from collections.abc import Callable

from modelfiles.messages import ToolCall
from modelfiles.replies.blocks import BlockReader, Style, Verdict
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall, calls_in
from modelfiles.replies.value_end import Scan, ValueScanner

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
Convert = Callable[[str, DeclaredTools], list[ToolCall]]
_FENCE = re.compile(r"```\w*\n")
_FENCE_END = re.compile(r"```\s*")
_FENCE_BEGUN = re.compile(r"`{1,2}|```\w*")


class HermesReader:
    """Between values: white space, the closing tag, a code fence or the next value. In a value: its end.

    `opens`, `close`: the tags of other families that write the same; `convert`: what calls their JSON holds.
    """

    def __init__(
        self,
        tools: DeclaredTools,
        opens: tuple[str, ...] = (OPEN,),
        close: str = CLOSE,
        convert: Convert = calls_in,
    ) -> None:
        self._tools = tools
        self._opens = opens
        self._close = close
        self._convert = convert
        self._raw: list[str] = []
        self._window = ""
        self._marker_read = False
        self._scanner: ValueScanner | None = None
        self._value: list[str] = []
        self._calls: list[ToolCall] = []
        self._failed: list[str] = []
        self._reason = ""

    def feed(self, text: str) -> Verdict | None:
        self._raw.append(text)
        self._window += text
        if not self._marker_read:
            written = [word for word in self._opens if self._window.startswith(word)]
            self._window = self._window[max(map(len, written), default=0) :]
            self._marker_read = True
        while True:
            if self._scanner is None:
                ended = self._between(final=False)
                if ended is not None or self._scanner is None:
                    return ended
            elif not self._in_value(self._scanner):
                return None

    def finish(self) -> Verdict:
        scanner = self._scanner
        if scanner is None:
            return self._between(final=True) or self._verdict(self._window)
        self._value.append(self._window)
        if scanner.in_string:
            self._failed.append("".join(self._value))
            return self._given_up()
        return self._verdict("") if self._judge() else self._given_up()

    def _between(self, *, final: bool) -> Verdict | None:
        """None where more text is needed, or where a value begins."""
        window = self._window.lstrip()
        after_value = bool(self._calls or self._failed)
        fence = (_FENCE_END if after_value else _FENCE).match(window)
        if fence:
            self._window = window[fence.end() :]
            return self._between(final=final)
        if window.startswith(self._close):
            return self._verdict(window[len(self._close) :])
        if window[:1] in ("{", "["):
            self._window = window
            self._scanner = ValueScanner(self._close)
            return None
        if not final and (self._close.startswith(window) or _FENCE_BEGUN.fullmatch(window)):
            return None
        cut = final and after_value and self._close.startswith(window)
        return self._verdict("" if cut else self._window)

    def _in_value(self, scanner: ValueScanner) -> bool:
        """Whether the value ended."""
        end, stop = scanner.scan(self._window)
        self._value.append(self._window[:end])
        self._window = self._window[end:]
        if stop is Scan.MORE:
            return False
        self._judge()
        self._scanner = None
        return True

    def _judge(self) -> bool:
        text = "".join(self._value)
        self._value.clear()
        try:
            self._calls += self._convert(text, self._tools)
        except NoCall as error:
            self._reason = str(error)
            self._failed.append(text)
            return False
        return True

    def _verdict(self, rest: str) -> Verdict:
        if self._calls:
            return Verdict(tuple(self._calls), "\n".join(self._failed), rest, self._reason)
        raw = "".join(self._raw)
        return Verdict((), raw[: len(raw) - len(rest)], rest, self._reason or "no JSON in the block")

    def _given_up(self) -> Verdict:
        """The value never ended. What follows the first closing tag may hold other blocks."""
        raw = "".join(self._raw)
        end = raw.find(self._close)
        end = end + len(self._close) if end >= 0 else len(raw)
        if self._calls:
            return self._verdict("")
        return Verdict((), raw[:end], raw[end:], self._reason or "the JSON does not end")


def _open(tools: DeclaredTools) -> BlockReader:
    return HermesReader(tools)


STYLE = Style("hermes", (OPEN,), (), _open)
