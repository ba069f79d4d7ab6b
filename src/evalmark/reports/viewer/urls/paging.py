"""Paging of long lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """One page of a list: the requested page, or the last.

    >>> shown = Paging(total=45, size=20, requested=9)
    >>> shown.pages, shown.page, shown.start, shown.part(range(45))
    (3, 3, 40, range(40, 45))
    """

    total: int
    size: int
    requested: int = 1

    @property
    def pages(self) -> int:
        """How many pages there are; an empty list has one."""
        return max(1, page_at(self.total, self.size) - 1)

    @property
    def page(self) -> int:
        """Number of the shown page, from 1."""
        return min(self.requested, self.pages)

    @property
    def start(self) -> int:
        """Rows before the page."""
        return start_of(self.page, self.size)

    def part(self, rows: Sequence[T]) -> Sequence[T]:
        """Return the rows of the page."""
        return rows[self.start : self.start + self.size]


def start_of(page: int, size: int) -> int:
    """Count the rows before a page, numbered from 1.

    >>> start_of(1, 20), start_of(3, 20)
    (0, 40)
    """
    return (page - 1) * size


def page_at(start: int, size: int) -> int:
    """Return the number of the page after this many rows, rounded up.

    >>> page_at(0, 20), page_at(40, 20), page_at(41, 20)
    (1, 3, 4)
    """
    return -(-start // size) + 1
