"""What is kept for a page that asks again."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentCache(Generic[K, V]):
    """Values by their keys, for any thread: those that were asked for last, and no more than `most`.

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
        """The keys as they are now, the one that was asked for last at the end."""
        with self._lock:
            return iter([*self._kept])

    def get(self, key: K) -> V | None:
        """What is kept under a key; None where nothing is."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: K, value: V) -> None:
        """Keep something, in the place of what was there."""
        with self._lock:
            self._keep(key, value)

    def find(self, key: K, make: Callable[[], V]) -> V:
        """What is kept under a key, else what `make` gives; where two make it at once, both get the one that was first."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()  # nobody waits for it who asks for something else
        with self._lock:
            self._keep(key, self._kept.get(key, made))
            return self._kept[key]

    def _keep(self, key: K, value: V) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
