"""The result of an import, with the outcome of each part of the files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evalmark.core.values.run import Run

_SUITE = re.compile(r"(^|/)suite(-[0-9]+)?\.yaml$")
ORIGIN = "Imported from "
"""The start of the note of a run that names its origin; a run with the same name and note is not stored again."""
PartOutcome = Literal["kept", "changed", "left out", "no effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPart:
    """One part of the imported files: a file, a column or a key."""

    name: str
    """The part's name in the files, such as `tests.csv: reasoning`."""
    outcome: PartOutcome
    """`kept`: it means the same here; `changed`: it has an equivalent with a difference, which `to` states; `left out`: it has
    no equivalent; `no effect`: it is left out and changes neither requests nor scores."""
    to: str = ""
    """The equivalent, the difference, or the reason why it was left out."""
    others: tuple[str, ...] = ()
    """The names of further parts with the same outcome and reason."""

    @property
    def number(self) -> int:
        """The number of parts in this entry."""
        return 1 + len(self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Everything that was imported from another tool's files."""

    run: Run | None = None
    """The results, if any; its id and date are set when it is saved."""
    runs: tuple[Run, ...] = ()
    """Further runs, the oldest first, where the files have several; stored like `run`."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The suites and datasets to write: texts by file name."""
    parts: tuple[ImportedPart, ...] = ()
    remarks: tuple[str, ...] = ()
    """Remarks for the user, one sentence each; remarks on a row begin with `file:line`."""
    lacks_target: str = ""
    """Why the cases of the suites cannot be sent anywhere; empty if they can, or need not be."""

    @property
    def every_run(self) -> tuple[Run, ...]:
        """All runs, the oldest first."""
        return (self.run, *self.runs) if self.run is not None else self.runs

    @property
    def dropped(self) -> tuple[ImportedPart, ...]:
        """The parts without which the suite differs from the files in requests or scores."""
        return tuple(part for part in self.parts if part.outcome == "left out")

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of the suites among the files."""
        return tuple(name for name in self.files if _SUITE.search(name))
