"""Columns that nobody knows and that look like ones that are known: misspelled, in the plural, or worded differently."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .fields import SYNONYMS, column_advice, normalized_name

LOOKS_KNOWN = "is kept in the metadata; if it holds the"
"""How a note goes on that tells of such a column."""
_SAID = {"expected": "expected answer"}
_NAMED = ("input", "expected", "answer", "contexts", "history", "tags", "liked", "disliked")
"""Fields whose column a user can name."""
_SHORTEST = 5
"""Letters of a name that may be misspelled; shorter ones are too close to each other."""
_RIGHT = frozenset(("expected", "reference", "gold", "golden", "ideal", "correct", "right", "truth", "target"))
_ANSWER = frozenset(("answer", "answers", "output", "outputs", "response", "responses", "result", "results"))


def similar_name_notes(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each name that looks like a known one, with the rename to make.

    >>> next(similar_name_notes(["expected_ouput"])).partition(";")[0]
    '`expected_ouput` is kept in the metadata'
    >>> list(similar_name_notes(["colour", "question_id"]))
    []
    """
    for name in names:
        if (found := _nearest(name)) is not None:
            field, known = found
            advice = column_advice(field, name, "or say so") if field in _NAMED else "else nothing reads it"
            yield f"`{name}` {LOOKS_KNOWN} {_SAID.get(field, field)}, rename it to `{known}`, {advice}."


@lru_cache(maxsize=1_000)
def _nearest(name: str) -> tuple[str, str] | None:
    """The field and the known name that a name looks like."""
    plain = normalized_name(name)
    for field, synonyms in SYNONYMS.items():
        for known in synonyms:
            if len(normalized_name(known)) >= _SHORTEST and _is_near(plain, normalized_name(known)):
                return field, known
    words = {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    if len(words) == 2 and words & _RIGHT and words & _ANSWER:
        return "expected", "expected"
    return None


def _is_near(name: str, known: str) -> bool:
    """Whether one letter more, less, other or swapped makes the known name; of long names, two such changes."""
    if name[-1:].isdigit():  # `answer2` is a second column, and no misspelled one
        return False
    most = 2 if min(len(name), len(known)) >= 10 and name[:-2] != known else 1
    return abs(len(name) - len(known)) <= most and _distance(name, known) <= most


def _distance(one: str, other: str) -> int:
    """How many letters have to be put in, taken out, changed or swapped with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        now = [row]
        for column, wanted in enumerate(other, start=1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
