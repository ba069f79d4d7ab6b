"""What is wrong with a dataset, when it is much."""

MOST_FAULTS = 50
"""Faults of one dataset that are named; the rest is counted."""


class Faults:
    """The first faults of a dataset as they are, and how many came after them.

    >>> found = Faults("x.csv", most=1)
    >>> for line in (2, 3, 4):
    ...     found.add(f"x.csv:{line}: no input.")
    >>> found.told()
    ['x.csv:2: no input.', '… and 2 more faults in x.csv.']
    """

    def __init__(self, name: str = "", most: int = MOST_FAULTS) -> None:
        self._name = name
        self._most = most
        self._named: list[str] = []
        self._more = 0

    def add(self, fault: str) -> None:
        """One more fault."""
        if len(self._named) < self._most:
            self._named.append(fault)
        else:
            self._more += 1

    def told(self) -> list[str]:
        """The faults to show, none where there were none."""
        where = f" in {self._name}" if self._name else ""
        noun = "fault" if self._more == 1 else "faults"
        return [*self._named, f"… and {self._more:,} more {noun}{where}."] if self._more else list(self._named)
