"""Prompt formats that only put something before and behind each message, as Go templates.

Such a template ends where the model is to answer. An answer at the end of the messages is left open, so that
the model goes on with it. Knows nothing of particular families.
"""

from dataclasses import dataclass
from typing import TypeAlias

# What stands before a message and behind it.
Around: TypeAlias = tuple[str, str]

_LAST = "{{ $last := eq (len (slice $.Messages $at)) 1 }}"
_ANSWER_AT_END = '{{ if and $last (ne .Role "assistant") }}'


@dataclass(frozen=True, slots=True)
class Turns:
    """A format in which every message is a turn of its own. All texts are literal, without `{{`.

    `reply` opens the answer that the model is to give, if that differs from how past answers begin; `begun`
    does so for one that is there in part. `default_system` stands in for a system text that is not given.
    """

    system: Around
    user: Around
    assistant: Around
    reply: str | None = None
    begun: str | None = None
    default_system: str = ""

    def template(self) -> str:
        """The Go template."""
        opening, closing = self.assistant
        begun = opening if self.begun is None else self.begun
        reply = opening if self.reply is None else self.reply
        if begun == opening:
            answer = f"{opening}{{{{ .Content }}}}{{{{ if not $last }}}}{closing}{{{{ end }}}}"
        else:
            past = f"{opening}{{{{ .Content }}}}{closing}"
            answer = f"{{{{ if $last }}}}{begun}{{{{ .Content }}}}{{{{ else }}}}{past}{{{{ end }}}}"
        return (
            f"{self._instead_of_system()}{{{{ range $at, $_ := .Messages }}}}{_LAST}"
            f'{{{{ if eq .Role "assistant" }}}}{answer}'
            f'{{{{ else if eq .Role "system" }}}}{_turn(self.system)}'
            f"{{{{ else }}}}{_turn(self.user)}{{{{ end }}}}"
            f"{_ANSWER_AT_END}{reply}{{{{ end }}}}{{{{ end }}}}"
        )

    def _instead_of_system(self) -> str:
        if not self.default_system:
            return ""
        text = self.system[0] + self.default_system + self.system[1]
        return f"{{{{ if not .System }}}}{text}{{{{ end }}}}"


@dataclass(frozen=True, slots=True)
class SystemInUser:
    """A format without system turns: that text opens the first user message, with `system` around it."""

    system: Around
    user: Around
    assistant: Around

    def template(self) -> str:
        """The Go template."""
        opening, closing = self.assistant
        before, behind = self.user
        told = f"{{{{ if $system }}}}{_text(self.system, '$system')}{{{{ $system = \"\" }}}}{{{{ end }}}}"
        return (
            f"{{{{ $system := .System }}}}{{{{ range $at, $_ := .Messages }}}}{_LAST}"
            f'{{{{ if eq .Role "assistant" }}}}{opening}{{{{ .Content }}}}'
            f"{{{{ if not $last }}}}{closing}{{{{ end }}}}"
            f'{{{{ else if or (ne .Role "system") (and $last $system) }}}}{before}{told}'
            f'{{{{ if ne .Role "system" }}}}{{{{ .Content }}}}{{{{ end }}}}{behind}'
            f"{{{{ end }}}}{_ANSWER_AT_END}{opening.rstrip(' ')}{{{{ end }}}}{{{{ end }}}}"
        )


Shape: TypeAlias = Turns | SystemInUser


def _turn(around: Around) -> str:
    return _text(around, ".Content")


def _text(around: Around, value: str) -> str:
    return f"{around[0]}{{{{ {value} }}}}{around[1]}"
