"""Names of models from names of files."""

import pytest

from mirrors.imports.naming import hub_name, name_and_tag, plain


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", ("qwen3-8b", "Q4_K_M")),
        ("m.BF16.gguf", ("m", "BF16")),
        ("big-IQ2_XXS-00001-of-00003.gguf", ("big", "IQ2_XXS")),
        ("通义 Qwen 七B.gguf", ("qwen-b", "")),
        ("通义.gguf", ("", "")),
        ("..gguf", ("", "")),
    ],
)
def test_files(file: str, expected: tuple[str, str]) -> None:
    assert name_and_tag(file) == expected


def test_parts_of_names_are_short_and_never_lead_anywhere() -> None:
    assert plain("../../etc") == "etc"
    assert plain("a/b\\c\0d") == "a-b-c-d"
    assert len(plain("x" * 300)) == 80
    assert hub_name("deep.mind", "m.1") == "deep-mind/m.1"
    assert hub_name("", "m") == "m"
