"""A Go template behind the same door as a Jinja template: conversation in, prompt out.

What of a conversation such templates do not know (tokens' texts, free variables) is left out, as in Ollama.
"""

from __future__ import annotations

from modelfiles.messages import Message
from modelfiles.templates.go.template import GoTemplate, parse_template
from modelfiles.templates.jinja import Conversation
from modelfiles.templates.switches import Level, Thinking
from modelfiles.templates.tags import ThinkingTags


class GoPrompt:
    """One parsed template; rendering is thread-safe.

    `tags` are those around thinking in the messages that it writes, `tool_call_tag` is what it writes before
    tool calls. `inserts`: it can ask for text between two others.
    """

    def __init__(self, source: str) -> None:
        """Raises TemplateError, which names the line."""
        self.source = source
        self.template: GoTemplate = parse_template(source)
        self.tags: ThinkingTags | None = self.template.thinking_tags
        self.tool_call_tag = self.template.tool_call_tag
        self.inserts = "suffix" in self.template.variables
        # Models that talk in channels know no higher level.
        self._highest: Level = "high" if "<|start|>" in source and "<|end|>" in source else "max"

    def render(self, conversation: Conversation) -> str:
        """The prompt's text, up to where the model goes on. Raises TemplateError with line and column."""
        return self.template.render(
            conversation.messages or (Message("user"),),
            today=conversation.now.date(),
            tools=conversation.tools,
            think=self._level(conversation.thinking),
        )

    def render_insert(self, prompt: str, suffix: str, conversation: Conversation) -> str:
        """The prompt for text between two others; of the conversation only moment and thinking count."""
        return self.template.render_insert(
            prompt, suffix, today=conversation.now.date(), think=self._level(conversation.thinking)
        )

    def _level(self, thinking: Thinking) -> Thinking:
        return self._highest if thinking == "max" else thinking
