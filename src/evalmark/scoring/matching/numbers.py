"""Parses numbers in texts."""

import math
import re
from typing import Any

_NUMBER = r"[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+\u2212]?\.\d+(?:[eE][-+]?\d+)?"
_WHOLE = re.compile(_NUMBER, re.ASCII)
# Inside a text, a number is separate: digits joined to others by - / : . , are dates, times, ranges, versions.
_INSIDE = re.compile(rf"(?<![\w.])(?<!\d[-\u2212/:.,])(?:{_NUMBER})(?!\d)(?![-\u2212/:.,]\d)", re.ASCII)


def number_of(value: Any) -> float | None:
    """Return a number, or a text that is only a number, as a float; None for other values.

    >>> number_of("1,234.5"), number_of(" -3 "), number_of("$20"), number_of(True)
    (1234.5, -3.0, None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        return _finite(text) if _WHOLE.fullmatch(text) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _finite(value)
    return None


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text; dates, times, ranges and versions are not numbers.

    >>> numbers_in("It costs $20 (not $200), 1,000 in all, in version 1.2.3 of 2024-05-01, 10-20 km")
    [20.0, 200.0, 1000.0]
    """
    return [number for match in _INSIDE.finditer(text) if (number := _finite(match.group())) is not None]


def _finite(value: Any) -> float | None:
    try:
        number = float(value.replace(",", "").replace("\u2212", "-") if isinstance(value, str) else value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
