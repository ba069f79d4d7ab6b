"""The cases of a page, one after the other, so far as there is room for them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from markupsafe import Markup

from evalmark.core.values.words import count
from evalmark.reports.html.escaping import LONGEST
from evalmark.stats.summary.summary import Summary

from .case_rows import ReportRow, RowContext, TextPart, report_row
from .options import ReportOptions
from .text_budget import FittedText, TextFitter, TextLimits, text_limits

NAMED = 10
"""Of the worst cases, how many are named above the others, and listed whatever there is room for."""
_BYTES, _CASES = 2_000, 5_000
"""What a case may take, and how many a page has room for in any case."""


@dataclass
class CaseList:
    """What a page calls while it is written: it cannot know before how much room is left."""

    about: RowContext
    summary: Summary
    options: ReportOptions
    behind: int
    """Bytes that stand behind the rows."""
    written: int = 0
    """Bytes of the page so far; whoever writes it adds them."""
    _fitting: TextFitter | None = None
    _listed: int = 0
    _late: int = 0
    """Rows behind the others."""
    _worst: set[str] = field(default_factory=set)

    @property
    def room(self) -> int:
        """Bytes that the page may have."""
        listed = min(self.summary.trials, self.options.cases)
        return self.options.room or _BYTES * max(_CASES, listed)

    def cut(self) -> str:
        """Measures what there is to show, and says what of it is cut."""
        found = text_limits(self._rows(), self.room - self.written - self.behind)
        self._fitting = TextFitter(found)
        if not found.cut:
            return ""
        why = "" if found.longest == LONGEST else f", so that this page stays below {self.room / 1e6:g} MB"
        return f"{count(found.cut, 'text')} of more than {found.longest:,} characters {_are(found)} cut{why}; {self._elsewhere()}"

    def fitted(self, part: TextPart) -> FittedText:
        """The text of a part as the page has it; `cut` comes first."""
        return self._fitting(part) if self._fitting is not None else FittedText([(part.text.shown, "")])

    def rows(self, drawn: Callable[[ReportRow], Markup]) -> Iterator[Markup]:
        """The rows, each drawn when the page has come to it; then the worst cases that are not among them."""
        named = {result.trial.id: result for result in self.summary.worst[:NAMED]}
        for row in self._rows():
            made = drawn(row)
            if self.written + len(made.encode()) + self.behind > self.room:
                break
            named.pop(row.id, None)
            self._listed += 1
            yield made
        for result in named.values():
            self._late += 1
            yield drawn(report_row(result, self.about))

    def rest(self) -> str:
        """Where the other cases are, if not all are here."""
        if self._listed == self.summary.trials:
            return ""
        late = f", and {self._late} of the worst behind them" if self._late else ""
        return f"The first {self._listed:,} of {self.summary.trials:,} are listed here{late}; {self._elsewhere()}"

    def _rows(self) -> Iterator[ReportRow]:
        return (report_row(result, self.about) for result in islice(self.about.run.results, self.options.cases))

    def _elsewhere(self) -> str:
        run = self.about.run.id if self.options.times else "RUN"
        return f"all of it stands in a .jsonl report: evalmark report {run} -o all.jsonl"


def _are(found: TextLimits) -> str:
    return "is" if found.cut == 1 else "are"
