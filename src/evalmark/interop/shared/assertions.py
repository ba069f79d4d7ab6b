"""Scorers for checks in single rows, such as the assertions of promptfoo tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.protocols import ChatModel
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import canonical, plain
from evalmark.core.values.score import Score
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.scoring.binding.scores import meets_threshold

KEY = "assert"
"""The metadata key with a case's own checks: a list of `{scorer: settings}`."""
CHECKS = ("equals", "contains", "regex", "is_json", "json_schema", "length", "numeric", "time", "structured_output")
JUDGED = ("closed_qa", "criteria", "factuality")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertions:
    """Run the checks in a row's metadata; a row without any is skipped.

    >>> case = Case(id="1", metadata={"assert": [{"contains": {"all": ["Oslo"]}}]})
    >>> [score.passed for score in Assertions()(case, Output(value="Oslo, of course"))]
    [True]
    """

    name: ClassVar[str] = "assertions"

    def __call__(self, case: Case, output: Output) -> list[Score]:
        """Return a score for each check.

        Raises:
            ValueError: an entry is not a known check, or has another form.
        """
        checks = _checks_of(case, (*CHECKS, *(f"not-{name}" for name in CHECKS)), JUDGED)
        scores = [
            _with_name(_scorer(name, canonical(settings))(case, output), label) for name, label, settings, _ in checks
        ]
        return scores or [Score(name=self.name, status="skipped", reason="the row asks for no check")]


@dataclass(frozen=True, kw_only=True)
class JudgedAssertions:
    """Run the judged checks in a row's metadata; a row without any is skipped and costs nothing."""

    name: ClassVar[str] = "judged_assertions"

    judge: Any = field(default=None, repr=False)
    """A chat model that replaces the run's judge."""

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> list[Score]:
        """Return a score for each judged check.

        Raises:
            ValueError: an entry is not a known check, or has another form.
        """
        scores = []
        for name, label, settings, least in _checks_of(case, JUDGED, (*CHECKS, *(f"not-{name}" for name in CHECKS))):
            score = _with_name(await _scorer(name, canonical(settings))(case, output, judge), label)
            if least is not None and score.value is not None:
                score = replace(score, passed=meets_threshold(score.value, least))
            scores.append(score)
        return scores or [Score(name=self.name, status="skipped", reason="the row asks no judge")]


Check = tuple[str, str, Mapping[str, Any], float | None]
"""The scorer, the name of its scores, its settings, and the least value that passes."""


def _checks_of(case: Case, mine: tuple[str, ...], others: tuple[str, ...]) -> list[Check]:
    entries = case.metadata.get(KEY, ())
    if not isinstance(entries, (list, tuple)):
        raise ValueError(f"`{KEY}` in the metadata is not a list of checks")  # noqa: TRY004  the same error class as for other faults of a row
    checks: list[Check] = []
    taken: set[str] = set()
    for item in entries:
        name, settings = next(iter(item.items()), (None, None)) if isinstance(item, Mapping) else (None, None)
        is_known = isinstance(name, str) and name in (*mine, *others) and len(item) == 1
        if not is_known or not (settings is None or isinstance(settings, Mapping)):
            raise ValueError(f"`{KEY}` in the metadata asks for {plain(item)!r:.80}; it takes {{scorer: settings}}")
        if name in mine:
            own = dict(settings or {})
            label, number = str(own.pop("name", name)), 2
            while label in taken:
                label, number = f"{own.get('name', name)}-{number}", number + 1
            taken.add(label)
            checks.append((name, label, own, own.pop("threshold", None)))
    return checks


@lru_cache(maxsize=1024)
def _scorer(name: str, settings: str) -> Callable[..., Any]:
    """Make the scorer of a check (cached, since many rows have the same check)."""
    return resolve_scorer(name, parse_json(settings, KEY), f"`{KEY}` in the metadata", AllowedFolders((Path.cwd(),)))


def _with_name(score: Score, label: str) -> Score:
    return replace(score, name=label)
