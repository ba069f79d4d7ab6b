"""What is wrong with a piece of a file, place and finding kept apart."""

from evalmark.core.errors import DataError


class PlacedError(DataError):
    """A `DataError` that remembers its two halves: `place` (`file:line`) and `message`."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message

    def __reduce__(self) -> tuple[type["PlacedError"], tuple[str, str]]:
        return type(self), (self.place, self.message)


def excerpt(text: str, most: int = 40) -> str:
    """A value as a message shows it: quoted, escaped, on one line, not longer than `most` characters.

    >>> excerpt("x" * 50, most=5)
    "'xxxxx…'"
    """
    return repr(text if len(text) <= most else text[:most] + "…")
