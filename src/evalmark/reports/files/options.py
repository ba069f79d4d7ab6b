"""What a reader may ask of a report, and what every file writer looks like."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalmark.core.values.run import Run
from evalmark.stats.comparison.change import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How a report file is written."""

    times: bool = True
    """False leaves out what differs between two equal runs: the run's id, dates and seconds."""
    raw: bool = False
    """CSV: True writes texts as they are, which is unsafe to open in a spreadsheet program."""
    cases: int = 10_000
    """HTML: how many cases to list; the page says so when there are more."""
    room: int | None = None
    """HTML: bytes of the page; texts are cut, all to the same length, and cases left out, so that it takes no more. None is
    10 MB, and 2 kB for each case beyond the 5,000th."""
    comparison: Comparison | None = None
    """JSON, Markdown, HTML: how the run compares with an earlier one, to stand beside its figures."""
    baseline: Run | None = None
    """HTML: that earlier one, for what was answered to each case before; it takes a `comparison` too."""


DEFAULT_OPTIONS = ReportOptions()

Writer = Callable[..., Iterator[str]]
"""`write(run, summary=None, options=PLAIN)`: the chunks of one file."""
