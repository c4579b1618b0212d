"""How far something is: a bar for a person who looks, a line now and then for a log."""

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from contextfind.cli.screen import console, say

STEPS = 10  # lines for one stage at most


@dataclass(slots=True)
class Countdown:
    """Makes `done` of `total` out of how much is left; the most that was ever left is the total."""

    most: int = 0

    def at(self, left: int) -> tuple[int, int]:
        """Return done and total; 0, 0 as long as nothing was left."""
        self.most = max(self.most, left)
        return self.most - left, self.most


class Meter(Protocol):
    """Shows stages one after the other; a context manager."""

    def show(self, stage: str, done: int, total: int, unit: str) -> None:
        """Show `done` of `total`; a total of 0 means that nobody knows it yet."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Bars:
    """Bars on stderr."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=console(stderr=True),
        )
        self._stage = ""

    def show(self, stage: str, done: int, total: int, unit: str) -> None:
        """Move the bar of a stage; a new stage finishes the one before."""
        count = f"{done}/{total} {unit}" if total else ""
        if stage != self._stage:
            self._finish()
            self._stage = stage
            self._bars.add_task(stage, total=total or None, count=count)
        newest = self._bars.tasks[-1].id
        self._bars.update(newest, completed=done, total=total or None, count=count)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._finish()
        self._bars.stop()

    def _finish(self) -> None:
        if self._bars.tasks:
            last = self._bars.tasks[-1]
            end = last.total or 1
            self._bars.update(last.id, total=end, completed=end)


class Lines:
    """Lines on stderr: when a stage begins, at every tenth, and at its end."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def show(self, stage: str, done: int, total: int, unit: str) -> None:
        """Print a line if there is something new to say."""
        step = done * STEPS // total if total else 0
        if self._last == (stage, step):
            return
        self._last = (stage, step)
        say(f"{stage} {done}/{total} {unit}" if total else f"{stage} …")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._last = None


def meter() -> Meter:
    """Return bars when stderr is a terminal, else lines."""
    return Bars() if sys.stderr.isatty() else Lines()
