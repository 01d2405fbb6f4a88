"""Which family of the catalogue a model's Jinja template belongs to: the one that writes the same prompts.

A template that can do more than those of the catalogue (tools, thinking, dates) belongs to none, so that a
model keeps what it can. Blanks and the tokens that begin or end a text are not compared; they differ between
templates of one family. Pure: the moment is fixed. Templates are hostile; the sandbox sees to that.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from modelfiles.errors import TemplateError
from modelfiles.messages import Message
from modelfiles.templates.catalog.families import Family, families
from modelfiles.templates.go import GoTemplate, parse_template
from modelfiles.templates.go.quoting import quoted
from modelfiles.templates.jinja import ChatTemplate, Conversation

_LONGEST = 8_192
_RICH = re.compile(
    r"\btools?\b|_tools?\b|\btool_|functions|thinking|think>|reasoning|documents|strftime|date_?string|datetime"
)
_END = "</s>"
_IGNORED = re.compile(r"\s+|<s>|</s>|<\|(?:endoftext|EOT|begin_of_text|end_of_text)\|>")
_MOMENT = datetime(2026, 1, 1)  # a template that asks for it is not compared

_SYSTEM = Message("system", "four-grey-geese")
_QUESTION = Message("user", "seven-slow-snails")
_ANSWER = Message("assistant", "three-thin-thrushes")
_AGAIN = Message("user", "nine-new-newts")
_CHATS = ((_QUESTION,), (_QUESTION, _ANSWER, _AGAIN))


@dataclass(frozen=True, slots=True)
class Detected:
    """A family under the name that Ollama gives it. `parameters` has the list `stop`."""

    name: str
    template: str
    parameters: dict[str, list[str]]


def detect(jinja: str, eos: str = "") -> Detected | None:
    """The family of a GGUF's chat template, or None, which means that the template is to be kept.

    Where a template puts in a system text of its own when there is none, so does the Go template. `eos` is
    what the vocabulary calls its end token: some families are told by it where an answer ends.
    """
    if len(jinja) > _LONGEST or _RICH.search(jinja):
        return None
    near = [family for family in families() if family.is_named_in(jinja)]
    if not near:
        return None
    try:
        theirs = ChatTemplate(jinja)
    except TemplateError:
        return None
    found = ((family, _same_prompts(theirs, family)) for family in near)
    fits = ((family, text) for family, text in found if text is not None)
    return next((_detected(family, _ended(text, jinja, eos)) for family, text in fits), None)


def _detected(family: Family, template: str) -> Detected:
    return Detected(family.name, template, {"stop": list(family.stop)})


def _ended(template: str, jinja: str, eos: str) -> str:
    """With the vocabulary's own end token where the Jinja template writes that."""
    named = "eos_token" in jinja and _END not in jinja and f"{_END}<s>" not in template
    return template.replace(_END, eos) if eos and named and "{{" not in eos else template


def _same_prompts(theirs: ChatTemplate, family: Family) -> str | None:
    """The family's Go template, with the model's own system text put in, if prompts are the same."""
    ours = parse_template(family.template)
    with_system = _theirs(theirs, (_SYSTEM, *_CHATS[-1]))
    has_system = with_system is not None and _SYSTEM.content in with_system
    if has_system and _bare(with_system or "") != _bare(_ours(ours, (_SYSTEM, *_CHATS[-1]))):
        return None
    if _agree(theirs, ours):
        return family.template
    default = _default_system(theirs, ours) if has_system else ""
    if not default:
        return None
    extended = f"{{{{ if not .System }}}}{{{{ {quoted(default)} }}}}{{{{ end }}}}{family.template}"
    return extended if _agree(theirs, parse_template(extended)) else None


def _agree(theirs: ChatTemplate, ours: GoTemplate) -> bool:
    pairs = ((_theirs(theirs, chat), _ours(ours, chat)) for chat in _CHATS)
    return all(their is not None and _bare(their) == _bare(our) for their, our in pairs)


def _default_system(theirs: ChatTemplate, ours: GoTemplate) -> str:
    """What `theirs` writes in place of a system text that is not given: text and all around it."""
    chat = _CHATS[0]
    before, _, behind = _ours(ours, (_SYSTEM, *chat)).partition(_SYSTEM.content)
    plain = _ours(ours, chat)
    their = _theirs(theirs, chat)
    if their is None or not behind.endswith(plain):
        return ""
    between = behind.removesuffix(plain)
    text = their.partition(_QUESTION.content)[0].removeprefix("<s>")
    opening = plain.partition(_QUESTION.content)[0]
    if not text.startswith(before) or not text.rstrip().endswith(opening.rstrip()):
        return ""
    text = text.removeprefix(before).rstrip().removesuffix(opening.rstrip()).rstrip()
    return before + text.removesuffix(between.rstrip()) + between


def _theirs(template: ChatTemplate, messages: tuple[Message, ...]) -> str | None:
    """None if the template refuses these messages as they are."""
    try:
        return template.render_as_given(Conversation(messages, _MOMENT, bos="<s>", eos=_END))
    except TemplateError:
        return None


def _ours(template: GoTemplate, messages: tuple[Message, ...]) -> str:
    return template.render(messages, today=_MOMENT.date())


def _bare(prompt: str) -> str:
    return _IGNORED.sub("", prompt)
