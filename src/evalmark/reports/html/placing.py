"""Where words stand in a picture, so that none lies on another: the first free place around each point, in order."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIZE = 11.5
"""Of the words, in units of a picture; the style sheet says the same."""
_NARROW, _WIDE = 0.62, 1.05
"""How wide a letter is at most, nearly always, as a part of its height."""
_GAP = 7.0


class Box(NamedTuple):
    """A place on a picture, whose `top` is less than its `bottom`."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether two places have something in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, other: "Box") -> bool:
        """Whether the other place lies within."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class Name(NamedTuple):
    """Words that are to stand at a point."""

    x: float
    y: float
    words: str


def width(words: str) -> float:
    """How wide words are at most, in units of a picture.

    >>> width("abc") < width("東京都")
    True
    """
    return SIZE * sum(_WIDE if unicodedata.east_asian_width(c) in "FW" else _NARROW for c in words)


def around(x: float, y: float, reach: float) -> Box:
    """The place of a mark."""
    return Box(x - reach, y - reach, x + reach, y + reach)


def placed(names: Sequence[Name], taken: Sequence[Box], room: Box) -> list[Box | None]:
    """A place for each name within the room, free of what is taken and of other names; None where there is none.

    Names that come first choose first: beside their point, above or below it, then at its corners.

    >>> room = Box(0, 0, 100, 40)
    >>> [box is None for box in placed([Name(50, 20, "one"), Name(50, 20, "two"), Name(50, 20, "x" * 50)], [], room)]
    [False, False, True]
    """
    held = list(taken)
    found: list[Box | None] = []
    for name in names:
        free = (box for box in _around(name) if room.holds(box) and not any(box.meets(other) for other in held))
        box = next(free, None)
        found.append(box)
        held += [] if box is None else [box]
    return found


def _around(name: Name) -> Iterator[Box]:
    wide, high = width(name.words), SIZE
    left, right, middle = name.x - _GAP - wide, name.x + _GAP, name.x - wide / 2
    above, beside, below = name.y - _GAP - high, name.y - high / 2, name.y + _GAP
    corners = [(x, y) for x in (right, left) for y in (above, below)]
    for x, y in [(right, beside), (left, beside), (middle, above), (middle, below), *corners]:
        yield Box(x, y, x + wide, y + high)


def thinned(places: Sequence[float], words: Sequence[str]) -> list[int]:
    """Which of the words along a line stay, the last one among them, when none may lie on another.

    >>> thinned([0, 10, 20, 100], ["one", "two", "three", "four"])
    [0, 3]
    """
    kept: list[int] = []
    for number in [len(words) - 1, *range(len(words) - 1)] if words else []:
        half = width(words[number]) / 2 + _GAP / 2
        if all(abs(places[number] - places[k]) >= half + width(words[k]) / 2 + _GAP / 2 for k in kept):
            kept.append(number)
    return sorted(kept)


def spread_out(places: Sequence[float], step: float, end: float) -> list[float]:
    """Ascending places moved so far that each is a step from the next, and none is beyond the end.

    >>> spread_out([10, 12, 40], 15, 45)
    [10.0, 25.0, 40.0]
    >>> spread_out([40, 41], 15, 45)
    [30.0, 45.0]
    """
    found: list[float] = []
    for place in places:
        found.append(max(float(place), found[-1] + step) if found else float(place))
    for number in reversed(range(len(found))):
        found[number] = min(found[number], float(end) - step * (len(found) - 1 - number))
    return found
