"""Progress on stderr: bars and a spinner on a terminal, one plain line per step anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import click

from shim.cli.answers import JSON, integer, text
from shim.cli.errors import ServerLost

if TYPE_CHECKING:
    from rich.progress import TaskID

SUCCESS = "success"


class Progress(Protocol):
    """What a long command reports to; closed by leaving its `with` block."""

    def status(self, line: str) -> None:
        """A step that has begun; it replaces the step before."""

    def bar(self, key: str, label: str, done: int, total: int) -> None:
        """How far the thing called `key` is, in bytes."""

    def note(self, line: str) -> None:
        """A line that stays."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_progress() -> Progress:
    """Bars if stderr is a terminal, plain lines otherwise."""
    return TerminalProgress() if sys.stderr.isatty() else PlainProgress()


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Shows on a terminal that something is being waited for; leaves nothing behind."""
    if not sys.stderr.isatty():
        yield
        return
    with TerminalProgress() as progress:
        progress.status(label)
        yield


def show_items(progress: Progress, items: Iterable[JSON]) -> None:
    """Report the items of a progress stream. Raises ServerLost if it ends without `success`."""
    last = ""
    for item in items:
        last, digest = text(item, "status"), text(item, "digest")
        done, total = integer(item, "completed"), integer(item, "total")
        if total and (done or not digest):
            progress.bar(digest or last, last, done, total)
        elif last.lower().startswith("warning"):
            progress.note(last)
        elif not digest:
            progress.status(last)
    if last != SUCCESS:
        raise ServerLost(f"the last step was '{last}'" if last else "no step was reported")


class PlainProgress:
    """For logs and pipes: each step and each bar once, as a line."""

    def __init__(self) -> None:
        self._last = ""
        self._bars: set[str] = set()

    def status(self, line: str) -> None:
        if line != self._last:
            self._last = line
            self.note(line)

    def bar(self, key: str, label: str, done: int, total: int) -> None:
        if key not in self._bars:
            self._bars.add(key)
            self.status(label)

    def note(self, line: str) -> None:
        click.echo(line, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class TerminalProgress:
    """For terminals: a spinner for the present step, a bar for each thing that has a size."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as RichProgress

        console = Console(stderr=True, highlight=False)
        label = TextColumn("{task.description}", markup=False)
        sizes = (label, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._steps = RichProgress(label, SpinnerColumn(), console=console, transient=True)
        self._sizes = RichProgress(*sizes, console=console)
        self._console = console
        self._bars: dict[str, TaskID] = {}
        self._shown: RichProgress | None = None

    def status(self, line: str) -> None:
        if line == SUCCESS:
            self._show(None)
            self.note(line)
            return
        self._show(self._steps)
        for task in self._steps.task_ids:
            self._steps.remove_task(task)
        self._steps.add_task(line, total=None)

    def bar(self, key: str, label: str, done: int, total: int) -> None:
        self._show(self._sizes)
        if key not in self._bars:
            self._bars[key] = self._sizes.add_task(label, total=total)
        self._sizes.update(self._bars[key], description=label, completed=done, total=total)

    def note(self, line: str) -> None:
        self._console.print(line, markup=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show(None)

    def _show(self, wanted: object) -> None:
        """Only one of the two displays may be drawn at a time."""
        if wanted is self._shown:
            return
        if self._shown is not None:
            self._shown.stop()
            # Finished bars stay on the screen; drawn once more they would be there twice.
            for task in self._shown.task_ids:
                self._shown.remove_task(task)
            self._bars.clear()
        self._shown = next((display for display in (self._steps, self._sizes) if display is wanted), None)
        if self._shown is not None:
            self._shown.start()
