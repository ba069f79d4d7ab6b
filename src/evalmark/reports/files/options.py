"""Options of report files, and the type of a writer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalmark.core.values.run import Run

if TYPE_CHECKING:
    from evalmark.stats.comparison.change import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options of a report file.

    >>> ReportOptions(times=False).raw
    False
    """

    times: bool = True
    """False leaves out the run's id, dates and durations, so that equal runs give equal files."""
    raw: bool = False
    """CSV: True writes texts as they are, which is unsafe to open in a spreadsheet program."""
    cases: int = 10_000
    """HTML: most cases listed."""
    budget: int | None = None
    """HTML: size limit in bytes; texts are cut to the same length and cases left out to fit. None is
    10 MB, and 2 kB for each case beyond the 5,000th."""
    comparison: "Comparison | None" = None
    """JSON, Markdown, HTML: a comparison with an earlier run to include."""
    baseline: Run | None = None
    """HTML: that earlier run, to show its outputs; needs a `comparison`."""


DEFAULT_OPTIONS = ReportOptions()

Writer = Callable[..., Iterator[str]]
"""`write(run, summary=None, options=PLAIN)`: the chunks of one file."""
