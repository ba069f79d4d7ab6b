"""How many of something there may be: whether a number fits, and how that is said."""


def within_bounds(number: int, low: int | None, high: int | None) -> bool:
    """Whether a number is within bounds; None: there is none on that side."""
    return (low is None or number >= low) and (high is None or number <= high)


def describe_bounds(low: int | None, high: int | None) -> str:
    """The bounds in words; one of them is given.

    >>> said(2, None), said(0, 80), said(3, 3), said(1_000, 2_000), said(0, 0)
    ('at least 2', 'at most 80', 'exactly 3', '1,000 to 2,000', 'no')
    """
    if high is None:
        return f"at least {low:,}"
    if high == 0:
        return "no"
    if low == high:
        return f"exactly {high:,}"
    return f"{low:,} to {high:,}" if low else f"at most {high:,}"
