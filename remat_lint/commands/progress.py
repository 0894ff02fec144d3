"""A progress bar for runs that a person waits for."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 1.0
"""Seconds before the bar appears: most runs are over by then and never load the library that draws it."""


class Bar:
    """Shows how many of how many files are done, on stderr, and leaves nothing behind.

    Args:
        visible: whether anything is shown at all.
    """

    def __init__(self, *, visible: bool) -> None:
        self._visible = visible
        self._start = time.monotonic()
        self._drawn: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._drawn[0].stop()

    def advance(self, done: int, total: int) -> None:
        """Show the state if the run has taken long enough."""
        if self._drawn is None and self._visible and time.monotonic() - self._start > DELAY:
            self._drawn = _draw(total)
        if self._drawn:
            progress, task = self._drawn
            progress.update(task, completed=done, total=total)


def _draw(total: int) -> tuple[Progress, TaskID]:
    from rich.console import Console  # noqa: PLC0415 (start-up)
    from rich.progress import Progress  # noqa: PLC0415 (start-up)

    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task("Checking", total=total)
    progress.start()
    return progress, task
