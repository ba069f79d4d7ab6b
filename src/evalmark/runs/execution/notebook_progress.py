"""Progress of `evaluate` in a notebook: one line that is replaced while the run goes on, and removed at its end."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.core.values.score import Verdict

_SECONDS = 0.25
"""The least time between two updates."""
_WORDS: Mapping[Verdict, str] = {"pass": "passed", "fail": "failed", "error": "errors", "unscored": "unscored"}


@contextmanager
def notebook_progress() -> Iterator[dict[str, Any]]:
    """Yield the callbacks of a run for `RunOptions`: those of a progress line in a notebook, none elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):  # IPython in a terminal has none
        yield {}
        return
    progress = _NotebookProgress(import_module("IPython.display"))
    try:
        yield {"on_start": progress.start, "on_verdicts": progress.add}
    finally:
        progress.close()


class _NotebookProgress:
    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._name, self._total = "", 0
        self._counts: Counter[Verdict] = Counter()
        self._shown = 0.0

    def start(self, run: Run, _: object) -> None:
        """Show the line; the total is 0 if a dataset has an unknown number of rows."""
        rows = [info.rows for info in run.datasets]
        self._name, self._total = (
            one_line(run.name, 60),
            sum(n or 0 for n in rows) * run.repeat if None not in rows else 0,
        )
        self._handle = self._display.display(self._line(), display_id=True)

    def add(self, verdicts: "Counter[Verdict]") -> None:
        """Count results, and update the line if the last update is long enough ago."""
        self._counts.update(verdicts)
        if self._handle is not None and time.monotonic() - self._shown >= _SECONDS:
            self._shown = time.monotonic()
            self._handle.update(self._line())

    def close(self) -> None:
        """Remove the line."""
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))

    def _line(self) -> Any:
        done = self._counts.total()
        bar = f'<progress value="{done}" max="{self._total}"></progress> ' if self._total else ""
        of = f" of {self._total:,}" if self._total else ""
        counts = "".join(f" · {self._counts[kind]:,} {word}" for kind, word in _WORDS.items() if self._counts[kind])
        return self._display.HTML(f"<div>{escape(self._name)} {bar}{done:,}{of}{counts}</div>")
