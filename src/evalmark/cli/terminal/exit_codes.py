"""Exit codes of the commands."""

from collections.abc import Iterable

FAILED = 1
USAGE = 2
INCONCLUSIVE = 3
INTERRUPTED = 130


def worst_code(codes: Iterable[int]) -> int:
    """Return the worst exit code: an interrupt, then a failed gate or a worse run, then a result that cannot tell."""
    return min(codes, key=(INTERRUPTED, FAILED, INCONCLUSIVE, 0).index)


def comparison_code(code: int, *, allow_undecided: bool) -> int:
    """Return the exit code of a comparison; 0 instead of 3 if `cannot tell` is allowed."""
    return 0 if allow_undecided and code == INCONCLUSIVE else code
