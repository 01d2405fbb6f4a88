"""Progress as plain lines, and on something that claims to be a terminal."""

import io

import pytest

from shim.cli.answers import JSON
from shim.cli.errors import ServerLost
from shim.cli.progress import PlainProgress, open_progress, show_items, spinner

ITEMS: list[JSON] = [
    {"status": "parsing GGUF"},
    {"status": "validating GGUF model", "digest": "0000000000000000000", "total": 100, "completed": 10},
    {"status": "validating GGUF model", "digest": "0000000000000000000", "total": 100, "completed": 100},
    {"status": "warning: the file has 128 experts, not 32"},
    {"status": "using existing layer sha256:ab"},
    {"status": "using existing layer sha256:ab"},
    {"status": "ignored", "digest": "sha256:cd"},
    {"status": "writing manifest"},
    {"status": "success"},
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress() as progress:
        show_items(progress, ITEMS)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "parsing GGUF",
        "validating GGUF model",
        "warning: the file has 128 experts, not 32",
        "using existing layer sha256:ab",
        "writing manifest",
        "success",
    ]


def test_a_terminal_gets_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with open_progress() as progress:
        show_items(progress, ITEMS)
    shown = screen.getvalue()
    assert "━" in shown
    assert "warning: the file has 128 experts, not 32\n" in shown
    assert shown.endswith("success\n")


def test_a_spinner_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, seen in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        with spinner("loading model"):
            pass
        assert ("loading model" in screen.getvalue()) is seen


def test_names_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with open_progress() as progress:
        progress.bar("k", "reading [bold]m[/bold].gguf", 1, 2)
        progress.note("[red]note[/red]")
    assert "[bold]m[/bold].gguf" in screen.getvalue()
    assert "[red]note[/red]" in screen.getvalue()


@pytest.mark.parametrize("items", [[], ITEMS[:-1]])
def test_a_stream_without_success_is_an_error(items: list[JSON]) -> None:
    with pytest.raises(ServerLost), PlainProgress() as progress:
        show_items(progress, items)
