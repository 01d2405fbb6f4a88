"""Whether the text of a TEMPLATE is a template at all, asked before it is stored. Pure."""

from modelfiles.templates.go.template import parse_template


def check_template(text: str) -> None:
    """Raise TemplateError in Go's words, with the line, for a text that does not parse."""
    parse_template(text)
