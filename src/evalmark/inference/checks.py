"""What the functions of this package accept: finite numbers within their range, and as many clusters as values."""

import math
from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any


def check_numbers(
    name: str, values: Iterable[Any], *, low: float | None = None, high: float | None = None, whole: bool = False
) -> None:
    """Refuse anything but finite numbers, from `low` to `high` where these are given; `name` is that of the argument.

    Raises:
        ValueError: a value is NaN, infinite, no number, not whole where it should be, or out of range.
    """
    wanted = f"{'whole' if whole else 'finite'} numbers{_within(low, high)}"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ValueError(f"{name}: expected {wanted}, got {values!r}")  # noqa: TRY004  one kind of error for all values
    for value in values:
        if (
            not _is_number(value, whole=whole)
            or not (low is None or value >= low)
            or not (high is None or value <= high)
        ):
            raise ValueError(f"{name}: expected {wanted}, got {value!r}")


def check_level(level: float, name: str = "level") -> None:
    """Refuse a level that is not between 0 and 1.

    Raises:
        ValueError: it is not.
    """
    if not _is_number(level, whole=False) or not 0 < level < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {level!r}")


def check_clusters(values: Sequence[Any], clusters: Sequence[Hashable] | None) -> None:
    """Refuse clusters that are not as many as the values.

    Raises:
        ValueError: they are not.
    """
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")


def _is_number(value: Any, *, whole: bool) -> bool:
    # numpy's bool is neither, and is what comparisons of arrays give.
    if type(value).__name__ in ("bool", "bool_"):
        return True
    if not isinstance(value, Integral if whole else Real):
        return bool(whole and isinstance(value, float) and value.is_integer())
    try:
        return math.isfinite(value)
    except OverflowError:
        return True  # a whole number beyond double precision


def _within(low: float | None, high: float | None) -> str:
    if low is None:
        return "" if high is None else f" up to {high:g}"
    return f" from {low:g}" + ("" if high is None else f" to {high:g}")
