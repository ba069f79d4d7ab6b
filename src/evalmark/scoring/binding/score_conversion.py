"""Converts what a scorer returned into scores: a truth value, a number, an object, or several of them."""

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, get_args

from evalmark.core.values.score import Direction, Score, Status

from .scores import unscored
from .text import preview

ALLOWED_RESULTS = (
    "a bool, a number, None, a Score, a list of Scores, a mapping of names to any of these, "
    "an object with `.score`, or a mapping {score, metadata: {rationale}}"
)


def as_scores(found: Any, name: str, direction: Direction = "higher") -> tuple[Score, ...]:
    """Convert what a scorer returned into scores.

    A truth value passes or fails. A number from 0 to 1 becomes `raw` and `value`; any other number only `raw`. None, NaN,
    infinity and text are `unscored`.

    >>> as_scores(0.25, "tone")[0].value, as_scores("7/10", "tone")[0].status
    (0.25, 'unscored')
    >>> [score.name for score in as_scores({"short": True, "kind": 0.5}, "tone")]
    ['tone.short', 'tone.kind']

    Raises:
        TypeError: The value cannot be read as a score.
        ValueError: Two of several scores have the same name.
    """
    if isinstance(found, Mapping) and "score" not in found:
        return _score_list([_single_score(item, f"{name}.{key}", direction) for key, item in found.items()], name)
    if isinstance(found, (list, tuple)) and not hasattr(found, "score"):
        return _score_list([_list_item_score(item, direction) for item in found], name)
    return (_single_score(found, name, direction),)


def _score_list(scores: list[Score], name: str) -> tuple[Score, ...]:
    if not scores:
        return (unscored(name, "the scorer returned no scores"),)
    names = [score.name for score in scores]
    if twice := [n for n in names if names.count(n) > 1]:
        raise ValueError(f"the scorer returned two scores called {twice[0]!r}")
    return tuple(scores)


def _list_item_score(item: Any, direction: Direction) -> Score:
    own = item.get("name") if isinstance(item, Mapping) else getattr(item, "name", None)
    if not isinstance(own, str):
        raise TypeError(f"the scorer returned a list with {preview(item)}, which has no name; return {ALLOWED_RESULTS}")
    return _single_score(item, own, direction)


def _single_score(found: Any, name: str, direction: Direction) -> Score:
    if isinstance(found, Score):
        return _checked_score(found)
    if isinstance(found, Mapping) and "score" in found:
        return _score_with_reason(found, name, direction)
    if hasattr(found, "score") and not callable(found.score):
        fields = {key: getattr(found, key, None) for key in ("score", "metadata", "reason", "passed")}
        return _score_with_reason(fields, name, direction)
    return _plain_value_score(found, name, direction)


def _plain_value_score(found: Any, name: str, direction: Direction) -> Score:
    if getattr(found, "ndim", None) == 0 and hasattr(found, "item"):  # a number of numpy, torch and the like
        found = found.item()
    if found is None:
        return unscored(name, "the scorer returned None", direction)
    if isinstance(found, bool):
        passed = found if direction == "higher" else not found
        return Score(name=name, raw=found, value=float(found), passed=passed, direction=direction)
    if isinstance(found, Real) or type(found).__name__ == "Decimal":
        return _number_score(found, name, direction)
    if isinstance(found, str):
        return unscored(name, f"the scorer returned the text {preview(found)}, which is not a score", direction)
    raise TypeError(f"the scorer returned {preview(found)} ({type(found).__name__}); return {ALLOWED_RESULTS}")


def _number_score(found: Any, name: str, direction: Direction) -> Score:
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return unscored(name, f"the scorer returned {preview(repr(found))}, which is not a finite number", direction)
    raw = found if isinstance(found, int) else number
    return Score(name=name, raw=raw, value=number if 0 <= number <= 1 else None, direction=direction)


def _score_with_reason(found: Mapping[Any, Any], name: str, direction: Direction) -> Score:
    """Convert a score with reason and metadata: rationale and metadata become reason and detail."""
    if isinstance(found["score"], Mapping):
        raise TypeError(f"the scorer returned a mapping whose `score` is a mapping; return {ALLOWED_RESULTS}")
    score = _single_score(found["score"], name, direction)
    metadata = found.get("metadata")
    detail = dict(metadata) if isinstance(metadata, Mapping) else {}
    reasons = [detail.pop("rationale", None), found.get("reason"), found.get("rationale")]
    reason = next((str(text) for text in reasons if text), score.reason)
    passed = found.get("passed", found.get("pass"))
    decided = passed if isinstance(passed, bool) and score.status == "scored" else score.passed
    return replace(score, reason=reason, passed=decided, detail={**score.detail, **detail})


def _checked_score(score: Score) -> Score:
    """Return a user's Score unchanged if its value can be stored, else an `unscored` one.

    Raises:
        TypeError: Another field has an invalid value.
    """
    if getattr(score.passed, "ndim", None) == 0:  # a truth value of numpy
        score = replace(score, passed=bool(score.passed))
    _check_fields(score)
    value = score.value
    if value is None or (type(value) is float and 0 <= value <= 1):
        return score
    if isinstance(value, Real) and 0 <= float(value) <= 1:
        return replace(score, value=float(value))
    reason = f"the scorer returned the value {preview(repr(value))}, which is not a number from 0 to 1"
    return replace(score, status="unscored", value=None, passed=None, reason=reason)


def _check_fields(score: Score) -> None:
    fine = (
        ("name", isinstance(score.name, str) and score.name),
        ("status", score.status in _STATES),
        ("direction", score.direction in _DIRECTIONS),
        ("passed", score.passed is None or isinstance(score.passed, bool)),
        ("reason", isinstance(score.reason, str)),
        ("detail", isinstance(score.detail, Mapping)),
    )
    for field, is_fine in fine:
        if not is_fine:
            found = preview(getattr(score, field))
            raise TypeError(f"the scorer returned a Score whose `{field}` is {found}, not {_FIELDS[field]}")


_STATES, _DIRECTIONS = get_args(Status), get_args(Direction)
_FIELDS: Mapping[str, str] = {
    "name": "a text",
    "status": f"one of {', '.join(_STATES)}",
    "direction": f"one of {', '.join(_DIRECTIONS)}",
    "passed": "True, False or None",
    "reason": "a text",
    "detail": "a mapping",
}
"""What each field may hold."""
