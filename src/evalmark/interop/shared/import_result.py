"""What was read out of another tool's files, and what became of each part of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evalmark.core.values.run import Run

_NO_METRICS = re.compile(r"^metrics: \[\]$", re.MULTILINE)
_SUITE = re.compile(r"(^|/)suite(-[0-9]+)?\.yaml$")
PartOutcome = Literal["mapped", "metadata", "no effect", "left out", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPart:
    """One part of the files: a file, a column, a key."""

    name: str
    """As the files name it, such as `tests.csv: reasoning`."""
    outcome: PartOutcome
    """`metadata`: kept with each case, though nothing here acts on it; `no effect`: it changes neither what is asked nor how
    it is judged; `left out`: nothing here means the same; `refused`: it is code, and was not run."""
    to: str = ""
    """What it became, or why it was left out."""
    number: int = 1
    """How many parts it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What came of another tool's files."""

    run: Run | None = None
    """The results, where the files hold any; its id and date are given when it is kept."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Suites and datasets of ours, as texts by the names of the files to write."""
    parts: tuple[ImportedPart, ...] = ()
    remarks: tuple[str, ...] = ()
    """What a reader should know, one sentence each; what is about a row begins with `file:line`."""

    @property
    def dropped(self) -> tuple[ImportedPart, ...]:
        """The parts without which a suite asks or judges otherwise than the files did."""
        return tuple(part for part in self.parts if part.outcome in ("left out", "refused"))

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of the suites among the files."""
        return tuple(name for name in self.files if _SUITE.search(name))

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Those of the suites in which nothing judges the outputs."""
        return tuple(name for name in self.suites if _NO_METRICS.search(self.files[name]))
