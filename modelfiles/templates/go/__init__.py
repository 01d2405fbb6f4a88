"""Go's template language, as models use it: text and values to the prompt that Ollama would make of them.

In reading order: the text (`quoting`, `constants`, `lexer`, `nodes`, `cursor`, `pipelines`, `parser`), values
(`values`, `data`, `marshal`, `methods`), how they are printed (`numerals`, `printing`, `formats`), functions
(`faults`, `comparing`, `indexing`, `functions`), running (`machine`, `fields`, `expressions`, `loops`, `cut`,
`steps`, `program`), and the template as a whole (`mentions`, `turns`, `template`).
"""

from modelfiles.templates.go.template import GoTemplate, parse_template

__all__ = ["GoTemplate", "parse_template"]
