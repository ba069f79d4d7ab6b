"""A thread-safe cache of recent values."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentCache(Generic[K, V]):
    """A thread-safe cache of the `most` recently used values.

    >>> found = RecentCache[str, int](2)
    >>> found.find("a", lambda: 1), found.find("b", lambda: 2), found.find("a", lambda: 9), found.find("c", lambda: 3)
    (1, 2, 1, 3)
    >>> [*found]
    ['a', 'c']
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys, most recently used last."""
        with self._lock:
            return iter([*self._kept])

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: K, value: V) -> None:
        """Store a value."""
        with self._lock:
            self._keep(key, value)

    def find(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, else store what `make` returns; the first of two concurrent values wins."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()  # outside the lock
        with self._lock:
            self._keep(key, self._kept.get(key, made))
            return self._kept[key]

    def _keep(self, key: K, value: V) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
