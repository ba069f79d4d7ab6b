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
            field, known_name = found
            advice = column_advice(field, name, "or say so") if field in _NAMED else "otherwise it has no effect"
            yield f"`{name}` {LOOKS_KNOWN} {_LABELS.get(field, field)}, rename it to `{known_name}`, {advice}."


@lru_cache(maxsize=1_000)
def _nearest(name: str) -> tuple[str, str] | None:
    """Return the field and the known name to which a name is similar."""
    plain = normalized_name(name)
    for field, synonyms in SYNONYMS.items():
        for known_name in synonyms:
            if len(normalized_name(known_name)) >= _SHORTEST and _is_near(plain, normalized_name(known_name)):
                return field, known_name
    words = {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    if len(words) == 2 and words & _RIGHT and words & _ANSWER:
        return "expected", "expected"
    return None


def _is_near(name: str, known_name: str) -> bool:
    """Tell whether one inserted, deleted, changed or swapped letter makes the known name; for long names, two."""
    if name[-1:].isdigit():  # `answer2` is a second column, not a misspelling
        return False
    most = 2 if min(len(name), len(known_name)) >= 10 and name[:-2] != known_name else 1
    return abs(len(name) - len(known_name)) <= most and _distance(name, known_name) <= most


def _distance(one: str, other: str) -> int:
    """Return the edit distance, where swapping neighbours is one edit."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        now = [row]
        for column, other_letter in enumerate(other, start=1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other_letter))
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == other_letter:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
