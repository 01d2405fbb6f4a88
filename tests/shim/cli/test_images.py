"""Pictures and sounds that a message names by their paths."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.cli.errors import CommandError
from shim.cli.images import WithMedia, take_media

PNG = b"\x89PNG\r\n\x1a\n rest"
SEES = ("completion", "vision")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`a.png`, `b c.JPG`, `图.webp`, `s.wav`, and `fake.png`, which is a text."""
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b c.JPG").write_bytes(b"\xff\xd8\xff rest")
    (tmp_path / "图.webp").write_bytes(b"RIFF\0\0\0\0WEBPVP8 ")
    (tmp_path / "s.wav").write_bytes(b"RIFF\0\0\0\0WAVEfmt ")
    (tmp_path / "fake.png").write_text("just text")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("message", "text", "names"),
    [
        ("what is ./a.png", "what is", ["a.png"]),
        ("./a.png what is it?", "what is it?", ["a.png"]),
        ("what is this?{folder}/a.png", "what is this?", ["a.png"]),
        ("~/a.png", "", ["a.png"]),
        (r"see ./b\ c.JPG please", "see  please", ["b c.JPG"]),
        ("see './b c.JPG' and \"./a.png\"", "see  and", ["b c.JPG", "a.png"]),
        ("描述一下./图.webp好吗", "描述一下好吗", ["图.webp"]),
        ("../{name}/a.png", "", ["a.png"]),
    ],
)
def test_paths_become_images(folder: Path, message: str, text: str, names: list[str]) -> None:
    found = take_media(message.format(folder=folder, name=folder.name), "m", SEES)
    assert found.text == text
    assert [Path(path).name for path in found.paths] == names
    assert [base64.b64decode(image) for image in found.images] == [(folder / n).read_bytes() for n in names]


@pytest.mark.parametrize(
    "message",
    [
        "what is ./missing.png", "https://example.org/a.png", "convert a.png", "./fake.png", "./a.png.txt",
        "'quoted' and \"words\"", "", "///////", "./a.pngx",
    ],
)  # fmt: skip
def test_other_texts_stay_as_they_are(folder: Path, message: str) -> None:
    assert take_media(message, "m", SEES) == WithMedia(message)


@pytest.mark.parametrize(
    ("message", "capabilities", "error"),
    [
        ("./a.png", ("completion",), "m cannot see images, and the message names one: a.png"),
        ("./s.wav", SEES, "m cannot hear sounds, and the message names one: s.wav"),
    ],
)
def test_a_model_that_cannot_is_not_asked(
    folder: Path, message: str, capabilities: tuple[str, ...], error: str
) -> None:
    with pytest.raises(CommandError) as refused:
        take_media(message, "m", capabilities)
    assert str(refused.value) == error
    assert "capabilities include" in refused.value.hint


def test_a_huge_file_is_refused_before_it_is_read(folder: Path) -> None:
    with (folder / "huge.png").open("wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(CommandError, match="larger than 100 MB"):
        take_media("./huge.png", "m", SEES)


@given(st.text(alphabet="/\\.~ '\"apngj:x图\n", max_size=60))
def test_any_text_is_taken(text: str) -> None:
    assert take_media(text, "m", ()) == WithMedia(text)
