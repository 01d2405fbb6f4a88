"""Takes marks around the answer out of the content, with the white space that touches them."""

from modelfiles.replies.markers import sendable


class MarkDropper:
    """One reply's."""

    def __init__(self, marks: tuple[str, ...]) -> None:
        self._marks = marks
        self._held = ""
        self._dropped = False

    def feed(self, text: str) -> str:
        """What is certain after `text` has been written too."""
        text, sent = self._held + text, ""
        while found := [(at, -len(mark), mark) for mark in self._marks if (at := text.find(mark)) >= 0]:
            at, _, mark = min(found)
            sent += self._trimmed(text[:at].rstrip())
            text = text[at + len(mark) :]
            self._dropped = True
        end = sendable(text, self._marks)
        self._held = text[end:]
        return sent + self._trimmed(text[:end])

    def finish(self) -> str:
        """What was held back."""
        text, self._held = self._held, ""
        return self._trimmed(text)

    def _trimmed(self, text: str) -> str:
        if self._dropped:
            text = text.lstrip()
            self._dropped = not text
        return text
