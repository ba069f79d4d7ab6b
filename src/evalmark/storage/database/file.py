"""A connection to a store in a file."""

import apsw


class FileConnection(apsw.Connection):
    """SQLite's own, with what else a store asks of a connection: a file tells nothing of who uses it."""

    is_reusable = False
    """One to a file is opened for each look."""

    def acquire_lock(self, *_whose: int) -> None:
        """Nothing is held by a connection: the number of its process tells who is there."""

    def release_lock(self, *_whose: int) -> None:
        """Nothing is held."""

    def is_locked(self, *_whose: int) -> None:
        """Nobody can say."""
