"""From the text that a model writes to content, thinking and tool calls, piece by piece as it comes.

In reading order: `pieces`, `markers`, `thinking`, `toolcalls` (one style a file), `stream` (all together),
`choice` (which parsers a model needs). Nothing here depends on how the text is cut into pieces.
"""
