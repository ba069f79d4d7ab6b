"""Parameters of query strings: parsed leniently, since people type them, and formatted."""

import math
from collections.abc import Container, Iterable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlencode

from .search_query import LONGEST

_MOST_PAGES = 1_000_000


def query_string(values: Mapping[str, Any]) -> str:
    """Format a query string without empty values."""
    pairs = [(name, value) for name, value in values.items() if value not in ("", None, [])]
    return f"?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else ""


def hidden_fields(values: Mapping[str, Any], without: Container[str]) -> list[tuple[str, str]]:
    """List the names and values of hidden fields that repeat a query in a form, but for some names and empty values."""
    kept = {name: value for name, value in values.items() if name not in without}
    return [
        (name, str(one))
        for name, value in kept.items()
        for one in (value if isinstance(value, list) else [value])
        if one not in ("", None)
    ]


def chosen_columns(names: Iterable[str], columns: Container[str]) -> tuple[str, ...]:
    """Return the names that are among `columns`; all without any."""
    return tuple(name for name in names if not columns or name in columns)


def one_of(words: Container[str], word: str) -> str:
    """Return a word if it is known; empty if not."""
    return word if word in words else ""


def parse_text(query: Mapping[str, str], name: str) -> str:
    """Return a parameter without spaces around it and what is too long; empty without it."""
    return query.get(name, "").strip()[:LONGEST]


def parse_count(text: str) -> int | None:
    """Parse a non-negative integer below 10**18; None if invalid.

    >>> parse_count("7"), parse_count("-7"), parse_count("9" * 30)
    (7, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def parse_date(text: str) -> date | None:
    """Parse a date in ISO form; None if invalid."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def parse_number(text: str) -> float | None:
    """Parse a finite number; None if invalid."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_page(text: str, otherwise: int) -> int:
    """Parse a positive integer, at most a million; `otherwise` if invalid.

    >>> parse_page("7", 1), parse_page("0", 1), parse_page("9" * 5_000, 1)
    (7, 1, 1000000)
    """
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    # Python turns no text of thousands of digits into a number.
    return min(int(digits[:12]), _MOST_PAGES) if digits else otherwise
