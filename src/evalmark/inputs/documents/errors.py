"""Errors with a place in a file."""

from evalmark.core.errors import DataError


class PlacedError(DataError):
    """A `DataError` that keeps its `place` (`file:line`) and its `message` apart."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message

    def __reduce__(self) -> tuple[type["PlacedError"], tuple[str, str]]:
        return type(self), (self.place, self.message)


def excerpt(text: str, most: int = 40) -> str:
    """Format a value for a message: quoted, escaped, on one line, at most `most` characters.

    >>> excerpt("x" * 50, most=5)
    "'xxxxx…'"
    """
    return repr(text if len(text) <= most else text[:most] + "…")
