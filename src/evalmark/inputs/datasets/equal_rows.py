"""Finds rows that equal earlier ones in everything but the id."""

from evalmark.core.text import count
from evalmark.core.values.case import is_generated_id

_NAMED = 3
"""Rows in a note."""


class EqualRows:
    """Collects the rows of a dataset that equal an earlier one."""

    def __init__(self) -> None:
        self._first: dict[int, str] = {}
        self._named: list[str] = []
        self.count = 0

    def add(self, case_id: str, place: str, content: int) -> None:
        """Add the next row: its id, its file and line, and a hash of its content."""
        label = f"{case_id!r} ({place})" if place else repr(case_id)
        if place and is_generated_id(case_id):
            label = place
        first = self._first.setdefault(content, label)
        if first is not label:
            self.count += 1
            if self.count <= _NAMED:
                self._named.append(f"{label} equals {first}")

    def note(self, dataset: str) -> str:
        """Return a note on the equal rows; empty if there are none."""
        if not self.count:
            return ""
        more = f" and {self.count - _NAMED:,} more" if self.count > _NAMED else ""
        verb = "equals an earlier one" if self.count == 1 else "equal earlier ones"
        return (
            f"{dataset}: {count(self.count, 'row')} {verb} in everything but the id: {', '.join(self._named)}{more}. "
            "Each of them is run, but in intervals and tests they count as one case."
        )
