"""The list of cases of an HTML report, limited by size."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from markupsafe import Markup

from evalmark.core.text import count
from evalmark.reports.html.escaping import LONGEST
from evalmark.reports.html.timeline import TimelineStep
from evalmark.stats.summary.summary import Summary

from .case_rows import ReportRow, RowContext, TextPart, report_rows
from .options import ReportOptions
from .text_budget import FittedText, TextFitter, TextLimits, text_limits

NAMED = 10
"""Worst cases named first and always listed."""
_BYTES, _CASES = 2_000, 5_000
"""Bytes per case, and cases that every page has room for."""


@dataclass
class CaseList:
    """The cases of a page while it is written; keeps track of the remaining size."""

    about: RowContext
    summary: Summary
    options: ReportOptions
    behind: int
    """Bytes after the rows."""
    written: int = 0
    """Bytes written so far; the caller updates it."""
    _fitting: TextFitter | None = None
    _listed: int = 0
    _late: int = 0
    """Worst cases listed after the others."""

    @cached_property
    def worst(self) -> list[ReportRow]:
        """The rows of the worst trials."""
        return list(report_rows(self.summary.worst[:NAMED], self.about))

    @property
    def budget(self) -> int:
        """Size limit of the page in bytes."""
        listed = min(self.summary.trials, self.options.cases)
        return self.options.budget or _BYTES * max(_CASES, listed)

    def cut(self) -> str:
        """Compute the text limits, and describe what is cut."""
        found = text_limits(self._rows(), self.budget - self.written - self.behind)
        self._fitting = TextFitter(found)
        if not found.cut:
            return ""
        why = "" if found.longest == LONGEST else f", so that this page stays below {self.budget / 1e6:g} MB"
        return f"{count(found.cut, 'text')} of more than {found.longest:,} characters {_are(found)} cut{why}; {self._elsewhere()}"

    def fitted(self, part: TextPart) -> FittedText:
        """Return the fitted text of a part; call `cut` first."""
        return self._fitting(part) if self._fitting is not None else FittedText([(part.text.shown, "")])

    def cell(self, text: str) -> str:
        """Return the fitted text of a cell; call `cut` first."""
        return text if self._fitting is None else self._fitting.cell(text)

    def timeline(self, row: ReportRow, draw: Callable[[Sequence[TimelineStep]], Markup]) -> Markup:
        """Return the timeline of a row, empty without one; call `cut` first."""
        return Markup() if self._fitting is None else self._fitting.timeline(row, draw)

    def rows(self, drawn: Callable[[ReportRow], Markup]) -> Iterator[Markup]:
        """Yield the rows lazily, then the worst cases not yet listed."""
        named = {row.id: row for row in self.worst}
        for row in self._rows():
            made = drawn(row)
            if self.written + len(made.encode()) + self.behind > self.budget:
                break
            named.pop(row.id, None)
            self._listed += 1
            yield made
        for row in named.values():
            self._late += 1
            yield drawn(row)

    def rest(self) -> str:
        """Say where the remaining cases are; empty if all are listed."""
        if self._listed == self.summary.trials:
            return ""
        late = f", and {self._late} of the worst cases below them" if self._late else ""
        return f"The first {self._listed:,} of {self.summary.trials:,} are listed here{late}; {self._elsewhere()}"

    def _rows(self) -> Iterator[ReportRow]:
        return report_rows(islice(self.about.run.results, self.options.cases), self.about)

    def _elsewhere(self) -> str:
        run = self.about.run.id if self.options.times else "RUN"
        return f"a .jsonl report has everything: evalmark report {run} -o all.jsonl"


def _are(found: TextLimits) -> str:
    return "is" if found.cut == 1 else "are"
