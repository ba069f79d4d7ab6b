"""Progress of a run on the error stream, if that is a terminal."""

import os
import sys
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from evalmark.core.lazy import LazyModule, need
from evalmark.core.text import count, is_plain, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalmark.core.protocols import Embedder
    from evalmark.core.settings import Settings
    from evalmark.core.values.score import Verdict
    from evalmark.models.embeddings import load as loading_module
else:
    loading_module = LazyModule("evalmark.models.embeddings.load")


_SHOWN: "Sequence[tuple[Verdict, str]]" = (
    ("pass", "passed"),
    ("fail", "failed"),
    ("error", "error"),
    ("unscored", "unscored"),
)

_WIDE_TERMINAL = 80
"""The least width of a terminal that shows the time so far beside the time left."""


def _counted(trials: int, word: str) -> str:
    return count(trials, word) if word == "error" else f"{trials} {word}"


class Progress:
    """A progress bar on a terminal; without one, a line for the first download."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._counts: Counter[Verdict] = Counter()
        self._quiet, self._said = quiet, ""
        self._bar = None
        # `!evalmark run` in a notebook has a terminal that shows no moving bar: the kernel names itself in this variable.
        if sys.stderr.isatty() and not quiet and not is_plain(os.environ) and "JPY_PARENT_PID" not in os.environ:
            bar = need("rich.progress")
            console = need("rich.console").Console(stderr=True)
            whole = need("rich.table").Column(no_wrap=True)  # on narrow terminals only the bar and the name give way
            columns = (
                bar.TextColumn("{task.description}"),
                bar.BarColumn(bar_width=24),
                bar.MofNCompleteColumn(table_column=whole),
                bar.TextColumn("{task.fields[counts]}"),
                *([bar.TimeElapsedColumn(table_column=whole.copy())] if console.width >= _WIDE_TERMINAL else []),
                bar.TimeRemainingColumn(compact=True, table_column=whole.copy()),
                bar.TextColumn("{task.fields[left]}"),
            )
            self._longest = max(8, console.width // 5)
            self._bar = bar.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("", total=None, counts="", left="", visible=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, name: str, total: int | None) -> None:
        """Start the progress of the trials; `total` is None if it is unknown before all rows are read."""
        if self._bar is not None:
            left = "" if total is None else "left"
            self._bar.update(
                self._task, description=one_line(name, self._longest), total=total, left=left, visible=True
            )

    def recorded(self, verdicts: "Counter[Verdict]") -> None:
        """Add the verdicts of stored results."""
        self._counts.update(verdicts)
        if self._bar is not None:
            counts = "  ".join(_counted(self._counts[key], word) for key, word in _SHOWN if self._counts[key])
            self._bar.update(self._task, advance=verdicts.total(), counts=counts)

    def loading(self, name: str, settings: "Settings", folders: "tuple[Path, ...]") -> "Embedder":
        """Load an embedder; show its download, if any."""
        return loading_module.load_embedder(name, settings, folders, self.fetched)

    def fetched(self, label: str, done: int, total: int | None) -> None:
        """Update the progress of a download; sizes in bytes."""
        if self._bar is None and not self._quiet and not self._said:
            self._said = label  # only the first one is printed
            sys.stderr.write(f"Fetching {label} …\n")
        if self._bar is not None:
            finished = total is not None and done >= total
            self._bar.update(
                self._task,
                description=label,
                completed=0 if finished else done >> 20,
                visible=not finished,
                total=None if total is None or finished else total >> 20,
                counts="" if finished else "MB",
            )
