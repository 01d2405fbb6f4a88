"""The families that the catalogue knows: how their prompts look, what ends their answers, how to know them.

The formats are those that the models' publishers describe; names and stop texts are those that programs
expect of Ollama, including the odd ones. Knows nothing of how a template is compared.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from modelfiles.templates.catalog.shapes import Around, Shape, SystemInUser, Turns
from modelfiles.templates.catalog.tools import deepseek_r1, qwen3, qwen25

_CODING = (
    "You are an exceptionally intelligent coding assistant that consistently delivers accurate and reliable "
    "responses to user instructions."
)
_LLAMA2_END = "</s><s>"


@dataclass(frozen=True, slots=True)
class Family:
    """`marks`: what a Jinja template of this family mentions, `without`: what it does not. Without marks a
    family is never detected.
    """

    name: str
    make: Callable[[], str]
    stop: tuple[str, ...]
    marks: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        """The Go template."""
        return self.make()

    def is_named_in(self, jinja: str) -> bool:
        """Whether `jinja` mentions what this family's templates do: a first look, and a cheap one."""
        if not self.marks or any(mark in jinja for mark in self.without):
            return False
        return all(mark in jinja for mark in self.marks)


def families() -> Iterator[Family]:
    """All of them; of two that fit a template, the first is meant."""
    yield from _with_tokens()
    yield from _with_names()
    yield from _with_headings()
    yield from _system_in_user()
    yield from _with_tools()


def _with_tokens() -> Iterator[Family]:
    """Turns between special tokens."""
    yield _family(
        "alfred",
        Turns(
            ("<start_system>", "<end_message>"),
            ("<start_user>", "<end_message>"),
            ("<start_assistant>", "<end_message>"),
        ),
        stop=("<start_system>", "<end_message>", "<start_user>", "<start_assistant>"),
        marks=("<start_user>", "<end_message>"),
    )
    yield _family(
        "chatml",
        Turns(*_roles("<|im_start|>{}\n", "<|im_end|>\n")),
        stop=("<|im_start|>", "<|im_end|>"),
        marks=("<|im_start|>", "<|im_end|>"),
    )
    turn = "<|START_OF_TURN_TOKEN|><|{}_TOKEN|>"
    yield _family(
        "command-r",
        Turns(*_roles(turn, "<|END_OF_TURN_TOKEN|>", names=("SYSTEM", "USER", "CHATBOT"))),
        stop=("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
        marks=("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    )
    yield _family(
        "llama3-instruct",
        Turns(*_roles("<|start_header_id|>{}<|end_header_id|>\n\n", "<|eot_id|>")),
        stop=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        marks=("<|start_header_id|>", "<|eot_id|>"),
    )
    yield _family(
        "openchat",
        Turns(
            *_roles("GPT4 Correct {}: ", "<|end_of_turn|>", names=("System", "User", "Assistant")),
            reply="GPT4 Correct Assistant:",
        ),
        stop=("<|end_of_turn|>",),
        marks=("GPT4 Correct", "<|end_of_turn|>"),
    )
    yield _family(
        "phi-3",
        Turns(*_roles("<|{}|>\n", "<|end|>\n")),
        stop=("<|end|>", "<|system|>", "<|user|>", "<|assistant|>"),
        marks=("<|end|>", "<|assistant|>"),
    )
    yield _family(
        "zephyr",
        Turns(*_roles("<|{}|>\n", "</s>\n")),
        stop=("<|system|>", "</s>", "<|user|>", "<|assistant|>"),
        marks=("<|user|>", "<|assistant|>"),
        without=("<|end|>",),
    )


def _with_names() -> Iterator[Family]:
    """Turns that begin with the speaker's name."""
    yield _family(
        "chatqa",
        Turns(*_roles("{}: ", "\n\n", names=("System", "User", "Assistant")), reply="Assistant:"),
        stop=("System:", "User:", "Assistant:", "<|begin_of_text|>"),
        marks=("User: ", "Assistant:"),
    )
    reply = "Source: assistant\nDestination: user\n\n "
    yield _family(
        "codellama-70b-instruct",
        Turns(*_roles("Source: {}\n\n ", " <step> "), reply=reply, begun=reply),
        stop=("Source:", "Destination:", "<step>"),
        marks=("Source: ", "<step>", "Destination: user"),
    )
    yield _family(
        "falcon-instruct",
        Turns(*_roles("{}: ", "\n", names=("System", "User", "Falcon")), reply="Falcon:"),
        stop=("User:", "Assistant:"),
        marks=("User: ", "Falcon:"),
    )
    yield _family(
        "vicuna",
        Turns(("", "\n\n"), ("USER: ", "\n"), ("ASSISTANT: ", "</s>\n"), reply="ASSISTANT:"),
        stop=("USER:", "ASSISTANT:"),
        marks=("USER:", "ASSISTANT:"),
    )


def _with_headings() -> Iterator[Family]:
    """Turns under headings."""
    yield _family(
        "alpaca",
        Turns(
            ("", "\n\n"),
            ("### Instruction:\n", "\n\n"),
            ("### Response:\n", "\n\n"),
        ),
        stop=("### Instruction:", "### Response"),
        marks=("### Instruction:", "### Response:"),
    )
    yield _family(
        "granite-instruct",
        Turns(*_roles("{}:\n", "\n\n", names=("System", "Question", "Answer"))),
        stop=("System:", "Question:", "Answer:"),
        marks=("Question:", "Answer:"),
    )
    yield _family(
        "magicoder",
        Turns(
            ("", "\n\n"), ("@@ Instruction\n", "\n\n"), ("@@ Response\n", "\n\n"), default_system=_CODING
        ),
        stop=("@@ Instruction", "@@ Response"),
        marks=("@@ Instruction", "@@ Response"),
    )
    yield _family(
        "solar-instruct",
        Turns(*_roles("### {}:\n", "\n\n", "</s>\n\n", names=("System", "User", "Assistant"))),
        stop=("### System:", "### User:", "### Assistant"),
        marks=("### User:", "### Assistant:"),
    )
    yield _family(
        "starcoder2-instruct",
        Turns(
            ("", "\n\n"),
            ("### Instruction\n", "\n\n"),
            ("### Response\n", "<|endoftext|>\n\n"),
            default_system=_CODING,
        ),
        stop=("### Instruction", "### Response", "<|endoftext|>"),
        marks=("### Instruction", "### Response"),
    )


def _system_in_user() -> Iterator[Family]:
    """Two pairs whose turns look alike: the one that says more about itself comes first."""
    yield _family(
        "llama2-chat",
        SystemInUser(("<<SYS>>\n", "\n<</SYS>>\n\n"), ("[INST] ", " [/INST]"), (" ", f" {_LLAMA2_END}")),
        stop=("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
        marks=("[INST]", "<<SYS>>"),
    )
    yield _family(
        "mistral-instruct",
        SystemInUser(("", "\n\n"), ("[INST] ", " [/INST]"), (" ", "</s>")),
        stop=("<|im_start|>", "<|im_end|>"),  # not of this family, but what Ollama stores
        marks=("[INST]", "[/INST]"),
        without=("<<SYS>>",),
    )
    gemma = SystemInUser(
        ("", "\n\n"),
        ("<start_of_turn>user\n", "<end_of_turn>\n"),
        ("<start_of_turn>model\n", "<end_of_turn>\n"),
    )
    yield _family(
        "gemma3-instruct",
        gemma,
        stop=("<end_of_turn>",),
        marks=("<start_of_turn>", "<start_of_image>"),
    )
    yield _family(
        "gemma-instruct",
        gemma,
        stop=("<start_of_turn>", "<end_of_turn>"),
        marks=("<start_of_turn>", "<end_of_turn>"),
        without=("<start_of_image>",),
    )


def _with_tools() -> Iterator[Family]:
    qwen_stop = ("<|im_start|>", "<|im_end|>")
    yield Family("qwen2.5-instruct", qwen25, qwen_stop)
    yield Family("qwen3", qwen3, qwen_stop)
    yield Family(
        "deepseek-r1",
        deepseek_r1,
        ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
    )


def _family(
    name: str,
    layout: Shape,
    *,
    stop: tuple[str, ...],
    marks: tuple[str, ...],
    without: tuple[str, ...] = (),
) -> Family:
    return Family(name, layout.template, stop, marks, without)


def _roles(
    opening: str,
    closing: str,
    answered: str | None = None,
    *,
    names: tuple[str, str, str] = ("system", "user", "assistant"),
) -> tuple[Around, Around, Around]:
    """What stands around messages of the three roles; `answered` ends an answer, if that differs."""
    system, user, assistant = (opening.format(name) for name in names)
    return (system, closing), (user, closing), (assistant, closing if answered is None else answered)
