"""Templates of uploaded weights: which file is asked, and what its vocabulary calls the end."""

from pathlib import Path

import pytest

from modelfiles.base import Base
from modelfiles.detection import detected_template
from modelfiles.gguf import parse_gguf
from modelfiles.store import Store
from tests.modelfiles.gguf.building import ARRAY, DENSE, STRING, U32, gguf

TEXT = "\n{{ m.content }}{{ eos_token }}\n"
ZEPHYR = (
    f"{{% for m in messages %}}{{% if m.role == 'user' %}}<|user|>{TEXT}{{% elif m.role == 'system' %}}"
    f"<|system|>{TEXT}{{% else %}}<|assistant|>{TEXT}{{% endif %}}{{% endfor %}}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def base_with(store: Store, template: str, end: int = 301) -> Base:
    """A model with that template and a vocabulary too long to be kept with other headers."""
    raw = gguf(
        {
            **DENSE,
            "tokenizer.chat_template": (STRING, template),
            "tokenizer.ggml.tokens": (ARRAY, (STRING, ["a"] * 300 + ["<s>", "<fin>"])),
            "tokenizer.ggml.eos_token_id": (U32, end),
        }
    )
    layer = store.use_blob(store.write_blob([raw]), "application/vnd.ollama.image.model")
    return Base((layer,), (parse_gguf(lambda at, count: raw[at : at + count], len(raw)),))


def test_the_end_is_what_the_vocabulary_calls_it(store: Store) -> None:
    found = detected_template(store, base_with(store, ZEPHYR))
    assert found is not None
    assert "<fin>" in found.template
    assert "</s>" not in found.template


def test_a_vocabulary_that_lies_about_its_end_is_not_asked(store: Store) -> None:
    found = detected_template(store, base_with(store, ZEPHYR, end=302))
    assert found is not None
    assert "<fin>" not in found.template


@pytest.mark.parametrize("template", ["", "{{ messages }}", "{{ tools }}" + ZEPHYR])
def test_unknown_templates_are_none(store: Store, template: str) -> None:
    assert detected_template(store, base_with(store, template)) is None


def test_a_stub_has_none(store: Store) -> None:
    assert detected_template(store, Base()) is None
