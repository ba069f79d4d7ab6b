"""The two ways to the file of a store, as those who read and write it are handed them."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from apsw import Connection

T = TypeVar("T")


class Read(Protocol):
    """Has something read, and waits for it."""

    def __call__(self, act: Callable[[Connection], T], /) -> T: ...


class Write(Protocol):
    """Has something done in the thread that writes, and waits for it; `needed` bytes, about, go to the disk."""

    def __call__(self, act: Callable[[Connection], T], what: str, needed: int = 0, /) -> T: ...
