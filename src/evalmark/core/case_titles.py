"""Readable titles of cases: the id of a case or, if it was generated, the first words of the input."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.text import cut_at_word, one_line
from evalmark.core.values.case import is_generated_id

LONGEST_TITLE = 60
"""Characters of an input in a title."""
_REMEMBERED = 10_000
"""Titles that `CaseTitles` compares; later generated ids are always added, so that memory stays bounded."""
_LEAVES = 20
"""Texts of an input that are read for its title."""


def case_title(key: str, given: Any = None, position: int | None = None) -> str:
    """Return the title of a case with the id `key`, the input `given` and a position in its dataset, from 0.

    >>> case_title("paris", "Where is Paris?"), case_title("53383426a9b2", {"question": "Where is Paris?", "language": "en"})
    ('paris', 'Where is Paris? · en')
    >>> case_title("53383426a9b2", "Please write down, in a few words, why the sky is blue on most days")
    'Please write down, in a few words, why the sky is blue on…'
    >>> case_title("53383426a9b2", "", 2), case_title("53383426a9b2")
    ('case 3', 'case 5338')
    """
    is_visible = any(letter.isprintable() and not letter.isspace() for letter in key)
    if is_visible and not is_generated_id(key):
        return one_line(key, 400)
    return cut_at_word(" · ".join(_texts(given)), LONGEST_TITLE) or (
        f"case {position + 1}" if position is not None else f"case {_short(key, 4)}"
    )


def input_title(given: Any, key: str = "", position: int | None = None, longest: int = 240) -> str:
    """Return the input of a case on one line, or the title of the case if the input has no text.

    >>> input_title({"question": "Where is Paris?", "language": "en"}), input_title("", "paris")
    ('Where is Paris? · en', 'paris')
    """
    return cut_at_word(" · ".join(_texts(given, longest + 1)), longest) or case_title(key, given, position)


class CaseTitles:
    """Gives cases their titles; one that another case has already is followed by the start of the generated id.

    >>> titles = CaseTitles()
    >>> [titles(key, "Where is Oslo?") for key in ("53383426a9b2", "9b2253383426", "53383426a9b2")]
    ['Where is Oslo?', 'Where is Oslo? (9b22)', 'Where is Oslo?']
    """

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}

    def __call__(self, key: str, given: Any = None, position: int | None = None) -> str:
        """Return the title of a case, as `case_title` does, distinct from those of other cases."""
        title = case_title(key, given, position)
        if not is_generated_id(key):
            return title
        for name in (title, *(f"{title} ({_short(key, digits)})" for digits in (4, 8, 12))):
            if len(self._keys) < _REMEMBERED:
                self._keys.setdefault(name, key)
            if self._keys.get(name) == key:
                return name
        return f"{title} ({key})"


def _short(key: str, digits: int) -> str:
    """Shorten a generated id; equal rows keep their number."""
    start, dash, number = key.partition("-")
    return start[:digits] + dash + number


def _texts(given: Any, longest: int = LONGEST_TITLE * 2) -> list[str]:
    """Return the first texts and numbers in an input; of a list of messages, those of the last one of the user."""
    if isinstance(given, (list, tuple)):
        of_user = [turn for turn in given if isinstance(turn, Mapping) and turn.get("role") == "user"]
        given = of_user[-1].get("content") if of_user else given
    leaves: list[str] = []
    pending = [given]
    while pending and len(leaves) < _LEAVES:
        value = pending.pop(0)
        if isinstance(value, Mapping):
            pending[:0] = value.values()
        elif isinstance(value, (list, tuple)):
            pending[:0] = value[:_LEAVES]
        elif text := one_line(value, longest):
            leaves.append(text)
    return leaves
