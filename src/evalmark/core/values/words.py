"""Figures as every message and report writes them."""


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "context"), count(1200, "character")
    ('1 context', '1,200 characters')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float, digits: int = 3) -> str:
    """A share as a percentage that says 100 % and 0 % only when it is so.

    >>> percent(0.9), percent(0.9999), percent(1)
    ('90 %', '99.9 %', '100 %')
    """
    least = 10.0 ** (2 - digits)
    if 0 < share < 1:
        return f"{min(100 - least, max(least, 100 * share)):z.{digits}g} %"
    return f"{100 * share:z.{digits}g} %"


def percent_beside(share: float, limit: float) -> str:
    """A share as a percentage that does not look like another one when it is not the same.

    >>> percent_beside(0.8999, 0.9), percent_beside(0.9, 0.9)
    ('89.99 %', '90 %')
    """
    digits = 3
    while share != limit and digits < 12 and percent(share, digits) == percent(limit, digits):
        digits += 1
    return percent(share, digits)
