"""Find unknown columns with names similar to known ones: misspelled, in the plural, or worded differently."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .fields import SYNONYMS, column_advice, normalized_name

LOOKS_KNOWN = "is kept in the metadata; if it holds the"
"""The middle of the note on such a column."""
_LABELS = {"expected": "expected answer"}
_NAMED = ("input", "expected", "answer", "contexts", "history", "tags", "liked", "disliked")
"""Fields whose column can be set in the options."""
_SHORTEST = 5
"""The least length of a name that is checked for misspellings; shorter ones are too similar to each other."""
_RIGHT = frozenset(("expected", "reference", "gold", "golden", "ideal", "correct", "right", "truth", "target"))
_ANSWER = frozenset(("answer", "answers", "output", "outputs", "response", "responses", "result", "results"))


def similar_name_notes(names: Iterable[str]) -> Iterator[str]:
    """Yield a note for each name that is similar to a known one, with the suggested rename.

    >>> next(similar_name_notes(["expected_ouput"])).partition(";")[0]
    '`expected_ouput` is kept in the metadata'
    >>> list(similar_name_notes(["colour", "question_id"]))
    []
    """
    for name in names:
        if (found := _nearest(name)) is not None:
            field, known = found
            advice = column_advice(field, name, "or say so") if field in _NAMED else "else nothing reads it"
            yield f"`{name}` {LOOKS_KNOWN} {_LABELS.get(field, field)}, rename it to `{known}`, {advice}."


@lru_cache(maxsize=1_000)
def _nearest(name: str) -> tuple[str, str] | None:
    """Return the field and the known name to which a name is similar."""
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
    """Tell whether one inserted, deleted, changed or swapped letter makes the known name; for long names, two."""
    if name[-1:].isdigit():  # `answer2` is a second column, not a misspelling
        return False
    most = 2 if min(len(name), len(known)) >= 10 and name[:-2] != known else 1
    return abs(len(name) - len(known)) <= most and _distance(name, known) <= most


def _distance(one: str, other: str) -> int:
    """Return the edit distance, where swapping neighbours is one edit."""
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
