"""How far a run is, on the error stream of a terminal; nothing where nobody looks."""

import sys
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from evalmark.core.lazy import LazyModule, need

if TYPE_CHECKING:
    from pathlib import Path

    from evalmark.core.protocols import Embedder
    from evalmark.core.settings import Settings
    from evalmark.core.values.score import Result
    from evalmark.models.embeddings import load as loading_module
else:
    loading_module = LazyModule("evalmark.models.embeddings.load")


_SHOWN = (("pass", "passed"), ("fail", "failed"), ("error", "errors"), ("unscored", "unscored"))


class Progress:
    """A bar while a run goes on, where somebody looks at a terminal; a line for each download where not."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._counts: Counter[str] = Counter()
        self._quiet, self._said = quiet, ""
        self._bar = None
        if sys.stderr.isatty() and not quiet:
            bar = need("rich.progress")
            console = need("rich.console").Console(stderr=True)
            columns = (
                bar.TextColumn("{task.description}"),
                bar.BarColumn(bar_width=24),
                bar.MofNCompleteColumn(),
                bar.TextColumn("{task.fields[counts]}"),
                bar.TimeElapsedColumn(),
            )
            self._bar = bar.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("", total=None, counts="", visible=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, name: str, total: int | None) -> None:
        """The trials begin; `total` is None where it is not known without reading everything."""
        if self._bar is not None:
            self._bar.update(self._task, description=name, total=total, visible=True)

    def recorded(self, results: Sequence["Result"]) -> None:
        """More results are durable."""
        self._counts.update(result.verdict for result in results)
        if self._bar is not None:
            said = "  ".join(f"{self._counts[key]} {word}" for key, word in _SHOWN if self._counts[key])
            self._bar.update(self._task, advance=len(results), counts=said)

    def loading(self, name: str, settings: "Settings", folders: "tuple[Path, ...]") -> "Embedder":
        """The embedder of this name; shows the download, if there has to be one."""
        return loading_module.load_embedder(name, settings, folders, self.fetched)

    def fetched(self, label: str, done: int, total: int | None) -> None:
        """A download goes on; sizes in bytes."""
        if self._bar is None and not self._quiet and not self._said:
            self._said = label  # the first one is enough
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
