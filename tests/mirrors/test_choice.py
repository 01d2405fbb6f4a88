"""Which files a tag means."""

import pytest

from mirrors.choice import RemoteFile, check_list, choose, is_plain_path, quantisation
from mirrors.errors import BadAnswer, NoChoice


def files(*paths: str) -> list[RemoteFile]:
    return [RemoteFile(path, 100) for path in paths]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m-Q4_K_M.gguf", "Q4_K_M"),
        ("m.BF16.gguf", "BF16"),
        ("m-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m-IQ2_XXS-00001-of-00002.gguf", "IQ2_XXS"),
        ("m-f16.gguf", "f16"),
        ("m-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("m-Q4_0_4_4.gguf", "Q4_0_4_4"),
        ("m-TQ1_0.gguf", "TQ1_0"),
        ("Q8_0.gguf", "Q8_0"),
        ("model.gguf", ""),
        ("XF16.gguf", ""),
    ],
)
def test_quantisations_in_names(name: str, expected: str) -> None:
    assert quantisation(name) == expected


@pytest.mark.parametrize(
    ("paths", "tag", "expected"),
    [
        (("m-BF16.gguf", "m-F16.gguf"), "f16", "m-F16.gguf"),
        (("m-Q4_K_M.gguf", "m-Q8_0.gguf"), "q8_0", "m-Q8_0.gguf"),
        (("m-Q4_K_M.gguf", "m-Q8_0.gguf"), None, "m-Q4_K_M.gguf"),
        (("m-Q4_K_M.gguf", "m-Q8_0.gguf"), "latest", "m-Q4_K_M.gguf"),
        (("m-Q5_0.gguf", "m-Q4_1.gguf"), None, "m-Q4_1.gguf"),
        (("m-Q5_0.gguf", "m-Q8_0.gguf"), None, "m-Q8_0.gguf"),
        (("only-Q2_K.gguf", "mmproj-F16.gguf", "x-imatrix.gguf"), None, "only-Q2_K.gguf"),
        (("m-Q4_K_M.gguf", "mtp-Q4_K_M.gguf"), "Q4_K_M", "m-Q4_K_M.gguf"),
        (("m-I-Compact.gguf", "m-Compact.gguf"), "compact", "m-Compact.gguf"),
        (("m-I-Compact.gguf", "m-Compact.gguf"), "I-Compact", "m-I-Compact.gguf"),
        (("m-UD-Q4_K_M.gguf", "m-Q4_K_M.gguf"), "Q4_K_M", "m-Q4_K_M.gguf"),
        (("Q8_0/m.gguf", "Q4_0/m.gguf"), "q8_0", "Q8_0/m.gguf"),
        (("a.gguf", "b.gguf"), "b.gguf", "b.gguf"),
        (("a.gguf", "b.gguf"), "B", "b.gguf"),
    ],
)
def test_weights(paths: tuple[str, ...], tag: str | None, expected: str) -> None:
    assert [file.path for file in choose(files(*paths), tag).model] == [expected]


@pytest.mark.parametrize(
    ("paths", "tag", "fault"),
    [
        (("m-Q4_K_M.gguf", "m-Q4_K_S.gguf"), "Q4_K", "no file fits 'Q4_K'; there are: m-Q4_K_M.gguf"),
        (("a-Q8_0.gguf", "b-Q8_0.gguf"), "Q8_0", "a-Q8_0.gguf, b-Q8_0.gguf"),
        (("a.gguf", "b.gguf"), None, "nothing says which"),
        (("model.safetensors",), None, "no GGUF file"),
        (("mmproj-F16.gguf",), None, "no GGUF file"),
        (("m-00001-of-00003.gguf", "m-00003-of-00003.gguf"), None, "missing: m-00002-of-00003.gguf"),
        (("m-00002-of-00002.gguf",), None, "no GGUF file"),
    ],
)
def test_no_guesses(paths: tuple[str, ...], tag: str | None, fault: str) -> None:
    with pytest.raises(NoChoice) as refused:
        choose(files(*paths), tag)
    assert fault in str(refused.value)


def test_all_parts_a_projector_nearby_and_the_texts() -> None:
    listed = files(
        "Q4_K_M/m-Q4_K_M-00002-of-00002.gguf", "Q4_K_M/m-Q4_K_M-00001-of-00002.gguf", "mmproj-F32.gguf",
        "mmproj-BF16.gguf", "other/mmproj-F16.gguf", "LICENSE", "template", "sub/system", "README.md",
    )  # fmt: skip
    found = choose(listed, "q4_k_m")
    assert [file.name for file in found.model] == [
        "m-Q4_K_M-00001-of-00002.gguf",
        "m-Q4_K_M-00002-of-00002.gguf",
    ]
    assert found.projector == RemoteFile("mmproj-BF16.gguf", 100)
    assert [kind for kind, _ in found.texts] == ["license", "template"]


@pytest.mark.parametrize(
    "path",
    ["../x", "/x", "a//b", "a/./b", "a\\b", "c:x", "a\0b", "x.", "x ", "CON", "nul.gguf", "x" * 256, ""],
)
def test_paths_that_could_lead_elsewhere(path: str) -> None:
    assert not is_plain_path(path)
    with pytest.raises(BadAnswer, match="unsafe path"):
        check_list(files("fine.gguf", path))


def test_the_same_path_twice() -> None:
    with pytest.raises(BadAnswer, match="twice"):
        check_list(files("a.gguf", "A.gguf"))
