"""Families whose prompts have tools or thinking in them, as whole Go templates.

Models of these families come with Jinja templates that do more than such a template can, so none of them is
ever detected; they are there for who wants to write a Modelfile. The formats are those that Qwen and DeepSeek
publish with their models. Past thinking is shown from the last question on only, as both ask for.
"""

_LAST = "{{ $last := eq (len (slice $.Messages $at)) 1 }}"
_ASKED = (
    "{{ $asked := -1 }}"
    '{{ range $at, $_ := .Messages }}{{ if eq .Role "user" }}{{ $asked = $at }}{{ end }}{{ end }}'
)
_PAST_THINKING = "{{ if and .Thinking (gt $at $asked) }}<think>\n{{ .Thinking }}\n</think>\n\n{{ end }}"
_ANSWER_AT_END = '{{ if and $last (ne .Role "assistant") }}'
_THINKS_NOT = "{{ if and $.IsThinkSet (not $.Think) }}<think>\n\n</think>\n\n{{ end }}"

_QWEN_TOOLS = """{{ if .Tools }}

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>{{ range .Tools }}
{{ . }}{{ end }}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>{{ end }}"""

_QWEN_CALLS = """{{ $text := .Content }}{{ range $number, $_ := .ToolCalls }}{{ if or $text $number }}
{{ end }}<tool_call>
{"name": {{ json .Function.Name }}, "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}"""


def _qwen(system: str, thinking: str, reply: str) -> str:
    """`$open`: a user's turn has been begun for results of tools, which share one."""
    return (
        f"{system}{_ASKED}{{{{ $open := false }}}}{{{{ range $at, $_ := .Messages }}}}{_LAST}"
        '{{ if and $open (ne .Role "tool") }}<|im_end|>\n{{ $open = false }}{{ end }}'
        '{{ if eq .Role "tool" }}'
        "{{ if not $open }}<|im_start|>user{{ $open = true }}{{ end }}"
        "\n<tool_response>\n{{ .Content }}\n</tool_response>{{ if $last }}<|im_end|>\n{{ end }}"
        '{{ else if eq .Role "user" }}<|im_start|>user\n{{ .Content }}<|im_end|>\n'
        '{{ else if eq .Role "assistant" }}<|im_start|>assistant\n'
        f"{thinking}{{{{ .Content }}}}{_QWEN_CALLS}"
        "{{ if or .ToolCalls (not $last) }}<|im_end|>\n{{ end }}{{ end }}"
        '{{ if and $last (or .ToolCalls (ne .Role "assistant")) }}'
        f"<|im_start|>assistant\n{reply}{{{{ end }}}}{{{{ end }}}}"
    )


def qwen25() -> str:
    """Qwen 2.5 with tools."""
    default = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    system = (
        f"<|im_start|>system\n{{{{ if .System }}}}{{{{ .System }}}}{{{{ else }}}}{default}{{{{ end }}}}"
        f"{_QWEN_TOOLS}<|im_end|>\n"
    )
    return _qwen(system, thinking="", reply="")


def qwen3() -> str:
    """Qwen 3 with tools and thinking."""
    # Without a system text the heading of the tools comes first.
    tools = _QWEN_TOOLS.replace("\n\n# Tools", "{{ if .System }}\n\n{{ end }}# Tools", 1)
    given = f"<|im_start|>system\n{{{{ .System }}}}{tools}<|im_end|>\n"
    system = f"{{{{ if or .System .Tools }}}}{given}{{{{ end }}}}"
    return _qwen(system, _PAST_THINKING, _THINKS_NOT)


def deepseek_r1() -> str:
    """DeepSeek R1 and its distilled models; the prompt ends inside the thinking."""
    thinks = "{{ if or $.Think (not $.IsThinkSet) }}<think>\n{{ end }}"
    return (
        f"{{{{ .System }}}}{_ASKED}{{{{ range $at, $_ := .Messages }}}}{_LAST}"
        f'{{{{ if eq .Role "assistant" }}}}<｜Assistant｜>{_PAST_THINKING}{{{{ .Content }}}}'
        "{{ if not $last }}<｜end▁of▁sentence｜>{{ end }}"
        '{{ else if ne .Role "system" }}<｜User｜>{{ .Content }}{{ end }}'
        f"{_ANSWER_AT_END}<｜Assistant｜>{thinks}{_THINKS_NOT}{{{{ end }}}}{{{{ end }}}}"
    )
