"""From messages to the prompt's text, by the template that a model brings along.

In reading order: what a template may do (`budget`, `guards`, `filters`, `sandbox`), what it is given
(`pairing`, `conversation`, `arrange`), how it is made to think (`tags`, `switches`), the two languages
(`jinja`; `go` and `go_prompt`), which of them counts (`languages`, `choice`), and known formats (`catalog`).
"""
