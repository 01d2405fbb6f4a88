"""Anthropic's dialect: translators between its JSON and the one inner request and stream."""
