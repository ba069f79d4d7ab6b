"""Figures as every message and report writes them."""


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "context"), count(1200, "character")
    ('1 context', '1,200 characters')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
