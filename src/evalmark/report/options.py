"""What a reader may ask of a report, and what every file writer looks like."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalmark.stats import GateVerdict, Summary, judge, summarise
from evalmark.values import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the terminal can show, and how much of it."""

    width: int = 100
    color: bool = False
    unicode: bool = True
    """False draws with ASCII alone."""
    worst: int = 5
    """How many of the worst cases to show."""
    remarks: tuple[str, ...] = ()
    """Sentences to print above the verdict."""
    store: str = ""
    """Where the run is kept; said at the end, with the command to look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a report file is written."""

    times: bool = True
    """False leaves out what differs between two equal runs: the run's id, dates and seconds."""
    raw: bool = False
    """CSV: True writes texts as they are, which is unsafe to open in a spreadsheet program."""
    cases: int = 10_000
    """HTML: how many cases to list; the page says so when there are more."""


PLAIN = Options()

Writer = Callable[..., Iterator[str]]
"""`write(run, summary=None, options=PLAIN)`: the chunks of one file."""


def known(run: Run, summary: Summary | None) -> tuple[Summary, GateVerdict]:
    """The figures and the verdict of a run; found here unless the caller has the figures already."""
    summary = summary or summarise(run)
    return summary, judge(summary, run.gate)
