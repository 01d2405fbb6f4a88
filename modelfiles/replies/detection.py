"""Which style of tool calls a chat template shows, by the marks in its source. Pure facts.

The rows are in order, and the first that fits counts: marks of one family only come before those that many
share. Templates may put their marks together from variables, so some rows look for the pieces.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Row:
    """`any_of` (if there are some) and `all_of` must be in the source, `none_of` must not."""

    style: str
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    def fits(self, source: str) -> bool:
        return (
            all(mark in source for mark in self.all_of)
            and (not self.any_of or any(mark in source for mark in self.any_of))
            and not any(mark in source for mark in self.none_of)
        )


_CALL = "<tool_call>"
ROWS = (
    _Row("apertus", any_of=("<|tools_prefix|>", "<|inner_prefix|>")),
    _Row("gemma4", any_of=("<|tool_call>call:", "<|channel>")),
    _Row("openai", ("<|channel|>", "<|message|>", "analysis")),
    _Row("glimmer", ("<atem:function_calls>",)),
    _Row("glimmer", ("atem:", "function_calls", "invoke")),
    _Row("kimi_k3", ("<|open|>", "<|end_of_msg|>")),
    _Row("kimi_k2", any_of=("<|tool_calls_section_begin|>",)),
    _Row("minimax_m3", any_of=("]<]minimax[>[", "<mm:think>")),
    _Row("minimax_m2", ("<minimax:tool_call>",)),
    _Row("deepseek_v32", ("｜DSML｜", "function_calls")),
    _Row("deepseek_v4", ("｜DSML｜",)),
    _Row("deepseek_v3", ("<｜tool▁calls▁begin｜>", "```json")),
    _Row("deepseek_v31", ("<｜tool▁calls▁begin｜>",)),
    _Row("step3", any_of=("<steptml:", "<｜tool_calls_begin｜>")),
    _Row("seed_oss", ("<seed:tool_call>",)),
    _Row("hy_v3", ("<tool_sep", "<tool_calls")),
    _Row("k2_horizon", ("<ifm|tool_call",)),
    _Row("poolside_v1", ("<arg_key>", "<available_tools>")),
    _Row("ling3", ("<arg_key>", "<role>ASSISTANT</role>")),
    _Row("glm47", ("<arg_key>", "clear_thinking")),
    _Row("glm45", ("<arg_key>",)),
    _Row("qwen3_coder", (_CALL, "<function=", "<parameter=")),
    _Row("minicpm5", ("<function name=", "<param name=")),
    _Row("functionary_v3_1", ("<function=", "</function>"), none_of=("<parameter=",)),
    _Row("lfm2", any_of=("<|tool_call_start|>", "<|tool_list_start|>", "List of tools: [")),
    _Row("dots", ("<dots_function_call>",)),
    _Row("olmo3", ("<function_calls>",)),
    _Row("functiongemma", ("<start_function_call>",)),
    _Row("cohere_command4", ("<|START_ACTION|>", "<|START_TEXT|>")),
    _Row("cohere_command3", ("<|START_ACTION|>",)),
    _Row("mistral", ("[TOOL_CALLS]",)),
    _Row("nemotron_nano_v2", ("<TOOLCALL>",)),
    _Row("internlm", ("<|action_start|>",)),
    _Row("solar_open", ("<|tool_call:begin|>",)),
    _Row("solar_open2", ("<|tool_arg:start|>",)),
    _Row("inkling", ("<|content_invoke_tool_json|>",)),
    _Row("gigachat35", ("｜GCML｜",)),
    _Row("gigachat3", any_of=("<|function_call|>",)),
    _Row("gigachat3", ("function call", "<|role_sep|>")),
    _Row("phi4_mini_json", any_of=("functools[", "<|tool|>")),
    _Row("longcat", ("<longcat_tool_call>",)),
    _Row("granite", ("<|tool_call|>", "<|start_of_role|>")),
    _Row("apriel", ("<tool_calls>", "BEGIN FINAL RESPONSE")),
    _Row("hunyuan_a13b", ("<tool_calls>", "<answer>")),
    _Row("jamba", ("<tool_calls>", "<|bom|>")),
    _Row("minimax_m1", ("<tool_calls>",)),
    _Row("ernie45", (_CALL, "<response>")),
    _Row("granite4", (_CALL, "<|start_of_role|>")),
    _Row("hermes", (_CALL,)),
    _Row("llama4_pythonic", ("<|python_start|>",)),
    _Row("llama3_json", any_of=("<|python_tag|>",)),
    _Row("llama3_json", ("ipython", '"parameters"')),
    _Row("command_r_plus", ("directly-answer", "Action:")),
)


def style_shown(source: str) -> str | None:
    """The name of the style that the template `source` shows, if it shows one."""
    return next((row.style for row in ROWS if row.fits(source)), None)


# Beginnings of architectures' names as GGUF files and Ollama spell them; the first that fits counts.
ARCHITECTURES = (
    ("gptoss", "openai"), ("gpt-oss", "openai"), ("gemma4", "gemma4"), ("qwen35", "qwen3_coder"),
    ("nemotron_h", "qwen3_coder"), ("step35", "qwen3_coder"), ("mimo2", "qwen3_coder"),
    ("qwen2", "hermes"), ("qwen3", "hermes"), ("llama4", "llama4_pythonic"), ("mistral", "mistral"),
    ("deepseek32", "deepseek_v32"), ("deepseek4", "deepseek_v4"), ("deepseek2", "deepseek_v3"),
    ("glm4moelite", "glm47"), ("glm-dsa", "glm47"), ("glm4moe", "glm45"), ("minimax-m3", "minimax_m3"),
    ("minimax-m2", "minimax_m2"), ("seed_oss", "seed_oss"), ("lfm2", "lfm2"), ("olmo3", "olmo3"),
    ("granitehybrid", "granite4"), ("granite", "granite"), ("cohere2moe", "cohere_command4"),
    ("command-r", "cohere_command3"), ("cohere2", "cohere_command3"), ("bailingmoe3", "ling3"),
    ("spark2_5", "spark25"), ("ernie4_5", "ernie45"), ("hunyuan-moe", "hunyuan_a13b"),
    ("hy_v3", "hy_v3"), ("laguna", "poolside_v1"), ("muse-glimmer", "glimmer"), ("apertus", "apertus"),
    ("jamba", "jamba"), ("smollm3", "hermes"), ("internlm2", "internlm"), ("kimi-k3", "kimi_k3"),
)  # fmt: skip


def style_of_architecture(architecture: str) -> str | None:
    """The name of the style that models of this `architecture` are known to write, if it is known."""
    name = architecture.strip().lower()
    return next((style for begin, style in ARCHITECTURES if name.startswith(begin)), None)
