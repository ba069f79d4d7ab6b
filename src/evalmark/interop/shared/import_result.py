"""The result of an import, with the outcome of each part of the files."""

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
    """One part of the imported files: a file, a column or a key."""

    name: str
    """The part's name in the files, such as `tests.csv: reasoning`."""
    outcome: PartOutcome
    """`mapped`: has an equivalent; `metadata`: saved in each case's metadata without effect; `no effect`: changes neither
    requests nor scores; `left out`: has no equivalent; `refused`: is code, which was not run."""
    to: str = ""
    """The equivalent, or the reason why it was left out."""
    number: int = 1
    """The number of parts in this entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Everything that was imported from another tool's files."""

    run: Run | None = None
    """The results, if any; its id and date are set when it is saved."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The suites and datasets to write: texts by file name."""
    parts: tuple[ImportedPart, ...] = ()
    remarks: tuple[str, ...] = ()
    """Remarks for the user, one sentence each; remarks on a row begin with `file:line`."""

    @property
    def dropped(self) -> tuple[ImportedPart, ...]:
        """The parts without which the suite differs from the files in requests or scores."""
        return tuple(part for part in self.parts if part.outcome in ("left out", "refused"))

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of the suites among the files."""
        return tuple(name for name in self.files if _SUITE.search(name))

    @property
    def unjudged(self) -> tuple[str, ...]:
        """The suites without any metric."""
        return tuple(name for name in self.suites if _NO_METRICS.search(self.files[name]))
