"""Detection with Jinja templates written for these tests, each after its family's habits."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelfiles.messages import Message
from modelfiles.templates.catalog import detect, families
from modelfiles.templates.go import parse_template


def turns(system: str, user: str, answer: str, reply: str, before: str = "") -> str:
    """A Jinja template that writes every message as its role's text has it."""
    return (
        f"{before}{{% for m in messages %}}{{% if m.role == 'system' %}}{system}"
        f"{{% elif m['role'] == 'user' %}}{user}{{% else %}}{answer}{{% endif %}}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{reply}{{% endif %}}"
    )


def roles(text: str, reply: str, before: str = "") -> str:
    """A Jinja template that writes every message alike."""
    return (
        f"{before}{{% for m in messages %}}{text}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{reply}{{% endif %}}"
    )


TEXT = "{{ m.content }}"
REFUSE = "{{ raise_exception('no system texts here') }}"
CODER = (
    "You are an exceptionally intelligent coding assistant that consistently delivers accurate and reliable "
    "responses to user instructions."
)
CHATML = roles("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n", "<|im_start|>assistant\n")
FIRST = "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}{% endif %}"
INSTRUCT = (
    "{% for m in messages if m.role != 'system' %}{% if m.role == 'user' %}[INST] "
    "{% if loop.first and s %}{{ '<<SYS>>\n' ~ s ~ '\n<</SYS>>\n\n' }}{% endif %}"
    "{{ m.content|trim }} [/INST]{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"
)
GEMMA = (
    "{% for m in messages %}{% if m.role == 'system' %}"
    f"{REFUSE}{{% endif %}}<start_of_turn>{{{{ 'model' if m.role == 'assistant' else m.role }}}}\n"
    "{{ m.content }}<end_of_turn>\n{% endfor %}<start_of_turn>model\n"
)
GEMMA3 = FIRST + (
    "{% for m in messages if m.role != 'system' %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{% if loop.first and s %}{{ s ~ '\n\n' }}{% endif %}"
    "{% if m.content is string %}{{ m.content }}{% else %}<start_of_image>{% endif %}<end_of_turn>\n"
    "{% endfor %}<start_of_turn>model\n"
)
KNOWN = [
    (
        "alfred",
        turns(
            f"<start_system>{TEXT}<end_message>",
            f"<start_user>{TEXT}<end_message>",
            f"<start_assistant>{TEXT}<end_message>",
            "<start_assistant>",
        ),
    ),
    (
        "alpaca",
        turns(
            f"{TEXT}\n\n",
            f"### Instruction:\n{TEXT}\n\n",
            f"### Response:\n{TEXT}{{{{ eos_token }}}}\n\n",
            "### Response:\n",
            "{{ bos_token }}",
        ),
    ),
    ("chatml", CHATML),
    (
        "chatqa",
        turns(f"System: {TEXT}\n\n", f"User: {TEXT}\n\n", f"Assistant: {TEXT}\n\n", "Assistant:"),
    ),
    (
        "codellama-70b-instruct",
        roles(
            "Source: {{ m.role }}\n\n {{ m.content }} <step> ", "Source: assistant\nDestination: user\n\n "
        ),
    ),
    (
        "command-r",
        turns(
            f"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>{TEXT}<|END_OF_TURN_TOKEN|>",
            f"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>{TEXT}<|END_OF_TURN_TOKEN|>",
            f"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{TEXT}<|END_OF_TURN_TOKEN|>",
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        ),
    ),
    ("falcon-instruct", turns(f"System: {TEXT}\n", f"User: {TEXT}\n", f"Falcon: {TEXT}\n", "Falcon:")),
    ("gemma-instruct", GEMMA),
    ("gemma3-instruct", GEMMA3),
    (
        "granite-instruct",
        turns(f"System:\n{TEXT}\n\n", f"Question:\n{TEXT}\n\n", f"Answer:\n{TEXT}\n\n", "Answer:"),
    ),
    ("llama2-chat", FIRST + INSTRUCT),
    (
        "llama3-instruct",
        roles(
            "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>",
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
            "{{ bos_token }}",
        ),
    ),
    (
        "magicoder",
        turns(
            REFUSE, f"@@ Instruction\n{TEXT}\n\n", f"@@ Response\n{TEXT}\n\n", "@@ Response\n", f"{CODER}\n"
        ),
    ),
    ("mistral-instruct", turns(REFUSE, f"[INST] {TEXT} [/INST]", f"{TEXT}{{{{ eos_token }}}}", "")),
    (
        "openchat",
        roles(
            "GPT4 Correct {{ m.role|capitalize }}: {{ m.content }}<|end_of_turn|>", "GPT4 Correct Assistant:"
        ),
    ),
    ("phi-3", roles("<|{{ m.role }}|>\n{{ m.content }}<|end|>\n", "<|assistant|>\n", "{{ bos_token }}")),
    (
        "solar-instruct",
        turns(
            f"### System:\n{TEXT}\n\n",
            f"### User:\n{TEXT}\n\n",
            f"### Assistant:\n{TEXT}",
            "### Assistant:\n",
        ),
    ),
    (
        "starcoder2-instruct",
        turns(
            REFUSE,
            f"### Instruction\n{TEXT}\n\n",
            f"### Response\n{TEXT}{{{{ eos_token }}}}\n\n",
            "### Response\n",
            CODER,
        ),
    ),
    (
        "vicuna",
        turns(f"{TEXT}\n\n", f"USER: {TEXT} ", f"ASSISTANT: {TEXT}{{{{ eos_token }}}}", "ASSISTANT:"),
    ),
    (
        "zephyr",
        turns(
            f"<|system|>\n{TEXT}{{{{ eos_token }}}}\n",
            f"<|user|>\n{TEXT}{{{{ eos_token }}}}\n",
            f"<|assistant|>\n{TEXT}{{{{ eos_token }}}}\n",
            "<|assistant|>",
        ),
    ),
]


@pytest.mark.parametrize(("name", "jinja"), KNOWN, ids=[name for name, _ in KNOWN])
def test_known_families(name: str, jinja: str) -> None:
    found = detect(jinja)
    assert found is not None
    family = next(family for family in families() if family.name == name)
    assert (found.name, found.template) == (name, family.template)
    assert found.parameters == {"stop": list(family.stop)}


def test_every_detectable_family_is_tried() -> None:
    assert {family.name for family in families() if family.marks} == {name for name, _ in KNOWN}


@pytest.mark.parametrize(
    "jinja",
    [
        "",
        "no chat at all",
        "{% for",
        "{{ raise_exception('<|im_start|> <|im_end|>') }}",
        CHATML.replace("\n{{ m.content }}", ": {{ m.content }}"),
        CHATML.replace("<|im_end|>", "<|im_end|> and out"),
        CHATML + "{% if tools %}{{ tools | tojson }}{% endif %}",
        CHATML + "{% if enable_thinking %}<think>{% endif %}",
        "{{ strftime_now('%Y') }}" + CHATML,
        CHATML + " " * 9_000,
        "{# <|im_start|> <|im_end|> #}{% for m in messages %}{{ m.content }}{% endfor %}",
        "{# <|im_start|> <|im_end|> #}{% for m in messages %}{{ m.nothing.more }}{% endfor %}",
        # A system text that goes elsewhere than the family's
        "<|im_start|>{{ messages[0].content }}<|im_end|>" + CHATML,
        # Only ever the last question
        "<|im_start|>user\n{{ messages[-1].content }}<|im_end|>\n<|im_start|>assistant\n",
        "{# <|im_start|> <|im_end|> #}{% for a in range(99999) %}{% for b in range(99999) %}"
        "{% endfor %}{% endfor %}",
    ],
)
def test_what_does_not_really_match_is_kept(jinja: str) -> None:
    assert detect(jinja) is None


def test_system_texts_that_are_dropped_are_no_difference() -> None:
    deaf = CHATML.replace("in messages", "in messages if m.role != 'system'")
    found = detect(deaf)
    assert found is not None
    assert found.name == "chatml"


@settings(max_examples=20)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool))
def test_a_models_own_system_text_is_taken_over(text: str) -> None:
    literal = "".join(f"\\U{ord(char):08x}" for char in text)
    turn = f"<|im_start|>system\n{{{{ '{literal}' }}}}<|im_end|>\n"
    own = f"{{% if messages[0].role != 'system' %}}{turn}{{% endif %}}"
    found = detect(own + CHATML)
    assert found is not None
    asked = [Message("user", "Hi")]
    template = parse_template(found.template)
    prompt = template.render(asked, today=date(2026, 1, 1))
    assert prompt == (
        f"<|im_start|>system\n{text}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    told = template.render([Message("system", "Sys."), *asked], today=date(2026, 1, 1))
    assert told.startswith("<|im_start|>system\nSys.<|im_end|>\n<|im_start|>user\nHi")


def test_answers_end_with_the_vocabularys_own_token() -> None:
    zephyr = dict(KNOWN)["zephyr"]
    found = detect(zephyr, eos="<|endoftext|>")
    assert found is not None
    assert "<|endoftext|>" in found.template
    assert "</s>" not in found.template
    unsafe = detect(zephyr, eos="{{ range }}")
    assert unsafe is not None
    assert "range }}" not in unsafe.template
