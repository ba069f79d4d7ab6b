"""Collect the faults of a dataset for one message."""

import re
from collections.abc import Sequence

MOST_FAULTS = 50
"""The most faults of one dataset that are named; the rest are counted."""
MOST_PLACES = 5
"""The most further places that are named if many rows have the same fault."""
_LINE = re.compile(r"(.*?):([0-9]+(?::[0-9]+)?)")


class FaultList:
    """The first faults of a dataset, and the number of further ones. A fault of many rows is listed once.

    >>> found = FaultList("x.csv", most=1)
    >>> for line in (2, 3, 4):
    ...     found.add("no input.", f"x.csv:{line}")
    >>> found.add("x.csv:5: the row is empty.")
    >>> found.lines()
    ['x.csv:2: no input. The same fault is in 2 more rows: lines 3, 4.', '… and 1 more fault in x.csv.']
    """

    def __init__(self, name: str = "", most: int = MOST_FAULTS) -> None:
        self._name = name
        self._most = most
        self._places: dict[str, list[str]] = {}
        self._rows: dict[str, int] = {}
        self._more = 0

    def add(self, fault: str, place: str = "") -> None:
        """Add a fault, as a sentence, with its place (`file:line`) unless the sentence already names it."""
        if fault in self._rows:
            self._rows[fault] += 1
        elif len(self._rows) < self._most:
            self._rows[fault] = 1
        else:
            self._more += 1
            return
        places = self._places.setdefault(fault, [])
        if place and len(places) <= MOST_PLACES:
            places.append(place)

    def lines(self) -> list[str]:
        """Return the lines of the message; empty if there are no faults."""
        named = [_fault_line(fault, self._places[fault], rows) for fault, rows in self._rows.items()]
        where = f" in {self._name}" if self._name else ""
        noun = "fault" if self._more == 1 else "faults"
        return [*named, f"… and {self._more:,} more {noun}{where}."] if self._more else named


def _fault_line(fault: str, places: Sequence[str], rows: int) -> str:
    if not places:
        return fault
    first, *others = places
    if not others:
        return f"{first}: {fault}"
    more = f"{rows - 1:,} more row{'' if rows == 2 else 's'}"
    and_on = ", …" if rows > len(places) else ""
    return f"{first}: {fault} The same fault is in {more}: {_listed(first, others)}{and_on}."


def _listed(first: str, others: Sequence[str]) -> str:
    """Join places; if all are in the same file, only their lines."""
    found = [_LINE.fullmatch(place) for place in (first, *others)]
    if len({match and match[1] for match in found}) > 1 or found[0] is None:
        return ", ".join(others)
    lines = [match[2] for match in found[1:] if match is not None]
    return f"line{'' if len(lines) == 1 else 's'} {', '.join(lines)}"
