"""Limits how much of a large run is read for one page, and how long that may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanBudget:
    """Limits for a scan of results that no index can narrow down."""

    few: int = 5_000
    """Up to this many results are all read and sorted; in more, matches are found along an index."""
    least: int = 200
    """Results that are read regardless of the time."""
    patience: float = 0.12
    """Seconds, after which the page shows what was found so far."""
    first: int = 25
    """Results that the first statement reads."""
    most: int = 5_000
    """Results that one statement reads at most."""
    step: float = 0.02
    """Seconds that one statement should take, so that the time is checked often."""
    counted: int = 200_000
    """Trials that an index may count while a page waits."""


DEFAULT_BUDGET = ScanBudget()
