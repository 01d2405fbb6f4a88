"""Ollama's own dialect: translators between its JSON and the inner requests, and its routes."""
