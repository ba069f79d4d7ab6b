"""How much of a large run is looked at for one page, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanBudget:
    """Bounds for a look through results that no index tells apart."""

    few: int = 5_000
    """Results that are all looked at, and sorted; what is wanted of more is found along an index."""
    least: int = 200
    """Results that are looked at whatever the clock says."""
    patience: float = 0.12
    """Seconds; beyond them the page shows what was found so far."""
    first: int = 25
    """Results that the first statement looks at."""
    most: int = 5_000
    """Results that one statement looks at."""
    step: float = 0.02
    """Seconds that one statement should take, so that the clock is looked at often enough."""
    counted: int = 200_000
    """Trials that an index counts while a page waits."""


DEFAULT_BUDGET = ScanBudget()
