"""What is kept of a run to draw how figures went from run to run: numbers, and the word of its gate."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalmark.reports.text import titles
from evalmark.reports.text.numbers import (
    figure as wording_figure,
)
from evalmark.reports.text.numbers import (
    interval as wording_interval,
)
from evalmark.reports.text.numbers import (
    percent,
    share_interval,
)
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.summary import Summary

from .axes import Unit
from .trend_chart import DASHES, Line, Outcome, Stop

BY_RATE = "pass rate"
WHOLE = "all"
"""The line of whole runs, where there are lines for parts of them."""


class Measured(NamedTuple):
    """A figure of a run, or of a part of it."""

    value: float
    interval: Interval
    n: int
    unit: Unit
    kind: str
    """Figures of different kinds are not on one scale."""

    @property
    def said(self) -> str:
        """The figure as text."""
        return percent(self.value) if self.unit == "share" else wording_figure(self.value, self.kind)

    @property
    def around(self) -> str:
        """Its interval as text."""
        found = self.interval
        return share_interval(found) if self.unit == "share" else wording_interval(found, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """The figures of a run by part and name; the part is empty for the whole run."""

    outcome: Outcome
    figures: Mapping[tuple[str, str], Measured]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A run on the way; without a milestone where its figures are not known."""

    place: int
    told: str
    series: str
    """What runs have in common that are drawn on one line."""
    passed: Share
    milestone: Milestone | None = None

    def measured(self, part: str, name: str) -> Measured | None:
        """A figure of it."""
        if self.milestone is not None:
            return self.milestone.figures.get((part, name))
        return _rate(self.passed) if (part, name) == ("", BY_RATE) else None


def milestone(summary: Summary, verdict: GateVerdict) -> Milestone:
    """What is kept of the figures of a run, of all that counts in it."""
    figures: dict[tuple[str, str], Measured | None] = {("", BY_RATE): _rate(summary.total.pass_rate)}
    several = len(summary.counted) > 1
    for group in summary.counted:
        part = titles.place(group, summary)
        if several:
            figures[part, BY_RATE] = _rate(group.tally.pass_rate)
        for metric in group.metrics:
            if metric.mean is not None:
                unit: Unit = "share" if metric.truths else ""
                figures[part if several else "", metric.name] = Measured(
                    metric.mean, metric.interval, metric.n, unit, metric.unit
                )
    return Milestone(
        outcome=verdict.outcome if verdict.gated else "",
        figures={key: found for key, found in figures.items() if found is not None},
    )


def _rate(share: Share) -> Measured | None:
    return None if share.value is None else Measured(share.value, share.interval, share.n, "share", "")


def parts_of(passages: Sequence[Passage], name: str) -> list[str]:
    """The parts of runs that have a figure of this name, the whole run first, then those of most runs: as many as lines."""
    found = Counter(part for passage in reversed(passages) for part in _parts(passage, name))
    return sorted(found, key=lambda part: (part != "", -found[part]))[:DASHES]


def _parts(passage: Passage, name: str) -> Iterator[str]:
    if passage.milestone is None:
        yield from [""] if name == BY_RATE else []
    else:
        yield from (part for part, figure in passage.milestone.figures if figure == name)


def course_lines(passages: Sequence[Passage], name: str, label: str = WHOLE) -> tuple[list[Line], Unit]:
    """A line for each part of the runs, and the unit they share: that of the newest run; figures in another are left out.

    `label` is what the line of whole runs is called.
    """
    parts = parts_of(passages, name)
    kinds = [(m.unit, m.kind) for p in reversed(passages) for part in parts if (m := p.measured(part, name))]
    lines = []
    for part in parts:
        stops = [
            Stop(
                place=passage.place,
                value=found.value,
                interval=found.interval,
                outcome=passage.milestone.outcome if passage.milestone else "",
                told=f"{passage.told}: {found.said}",
                said=found.said,
                around=found.around,
            )
            for passage in passages
            if (found := passage.measured(part, name)) is not None and (found.unit, found.kind) == kinds[0]
        ]
        lines.append(Line(name=part or label, stops=stops))
    return lines, kinds[0][0] if kinds else ""


def whole_lines(passages: Sequence[Passage]) -> list[Line]:
    """The pass rate of whole runs, a line for each series, those of the newest runs first."""
    lines = []
    for series in dict.fromkeys(passage.series for passage in reversed(passages)):
        own = [passage for passage in passages if passage.series == series]
        lines += [line for line in course_lines(own, BY_RATE, label=series)[0][:1] if line.stops]
    return lines[:DASHES]


def stops_of(passage: Passage, lines: Sequence[Line]) -> list[Stop | None]:
    """What a run has on each line."""
    return [next((stop for stop in line.stops if stop.place == passage.place), None) for line in lines]
