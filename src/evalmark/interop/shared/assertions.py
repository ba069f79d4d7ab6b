"""Scorers for checks in single rows, such as the assertions of promptfoo tests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.lazy import need
from evalmark.core.protocols import ChatModel, Embedder
from evalmark.core.values.case import Case, Example, Output
from evalmark.core.values.plain_data import canonical, plain
from evalmark.core.values.score import Score
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.scoring.binding.scores import meets_threshold

KEY = "assert"
"""The metadata key with a case's own checks: a list of `{scorer: settings}`."""
PROMPTFOO = "promptfoo"
CHECKS = (
    "equals", "contains", "regex", "is_json", "json_schema", "length", "numeric", "time", "structured_output", PROMPTFOO
)  # fmt: skip
JUDGED = ("closed_qa", "criteria", "factuality", "faithfulness")
SIMILAR = ("similarity",)
SET = "set"
"""Several checks that pass or fail as one: `{set: {checks: […], weights: […], threshold: 0.5}}`."""
CODE = "code"
"""A function in a file that the suite names: `{code: {name: …}}`; its own metric scores it."""
_OBJECTS = {PROMPTFOO: "evalmark.scorers:PromptfooAssertion"}
_MAX_NESTING = 5


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
        checks = [check for check in _checks_of(case) if check.kind == "check"]
        scores = [replace(_score(check.entry, case, output), name=check.label) for check in checks]
        return scores or [Score(name=self.name, status="skipped", reason="the row asks for no check")]


@dataclass(frozen=True, kw_only=True)
class JudgedAssertions:
    """Run the judged checks in a row's metadata; a row without any is skipped and costs nothing."""

    name: ClassVar[str] = "judged_assertions"

    group: str = ""
    """The group of the checks, where a suite has several judges; a check without `group` is in that of the empty name."""
    judge: Any = field(default=None, repr=False)
    """A chat model that replaces the run's judge."""

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> list[Score]:
        """Return a score for each judged check.

        Raises:
            ValueError: an entry is not a known check, or has another form.
        """
        checks = [check for check in _checks_of(case) if check.kind == "judged" and check.group == self.group]
        scores = [replace(await _judged_score(check.entry, case, output, judge), name=check.label) for check in checks]
        return scores or [Score(name=self.name, status="skipped", reason="the row asks no judge")]


@dataclass(frozen=True, kw_only=True)
class SimilarAssertions:
    """Run the checks of similarity in a row's metadata; a row without any is skipped."""

    name: ClassVar[str] = "similar_assertions"

    embedder: Any = field(default=None, repr=False)
    """An embedding model that replaces the run's."""

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> list[Score]:
        """Return a score for each check.

        Raises:
            ValueError: an entry is not a known check, or has another form.
        """
        scores = []
        for check in (check for check in _checks_of(case) if check.kind == "similar"):
            name, settings = _parts(check.entry)
            scorer, own = _prepared(name, settings, case)
            changed = _transformed(settings, case, output)
            score = changed if isinstance(changed, Score) else await scorer(own, changed, embedder)
            scores.append(replace(score, name=check.label))
        return scores or [Score(name=self.name, status="skipped", reason="the row compares with no text")]


def code_entries(case: Case, name: str) -> list[Mapping[str, Any]]:
    """Return the settings of the entries of a case that ask for a function by its name in the suite."""
    entries = case.metadata.get(KEY, ())
    found = (
        [item.get(CODE) for item in entries if isinstance(item, Mapping)] if isinstance(entries, (list, tuple)) else []
    )
    return [settings for settings in found if isinstance(settings, Mapping) and settings.get("name") == name]


@dataclass(frozen=True, slots=True)
class _RowCheck:
    entry: Mapping[str, Any]
    label: str
    """The name of its score."""
    kind: str
    """`check`, `judged`, `similar` or `code`."""
    group: str


def _checks_of(case: Case) -> list[_RowCheck]:
    entries = case.metadata.get(KEY, ())
    if not isinstance(entries, (list, tuple)):
        raise ValueError(f"`{KEY}` in the metadata is not a list of checks")  # noqa: TRY004  the same error class as for other faults of a row
    checks: list[_RowCheck] = []
    taken: set[tuple[str, str]] = set()
    for item in entries:
        name, settings = _parts(item)
        kind = _kind(item)
        own = settings.get("assertion")
        kind_of_tool = own.get("type") if isinstance(own, Mapping) else None
        label, number = str(settings.get("name") or kind_of_tool or name), 2
        first = label
        while (kind, label) in taken:
            label, number = f"{first}-{number}", number + 1
        taken.add((kind, label))
        checks.append(_RowCheck(item, label, kind, str(settings.get("group", ""))))
    return checks


def _parts(item: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the settings of an entry.

    Raises:
        ValueError: it is not a known check.
    """
    name, settings = next(iter(item.items()), (None, None)) if isinstance(item, Mapping) else (None, None)
    known = (*CHECKS, *(f"not-{check}" for check in CHECKS), *JUDGED, *SIMILAR, SET, CODE)
    if (
        not isinstance(name, str)
        or name not in known
        or len(item) != 1
        or not isinstance(settings, (Mapping, type(None)))
    ):
        raise ValueError(f"`{KEY}` in the metadata asks for {plain(item)!r:.80}; it takes {{scorer: settings}}")
    return name, settings or {}


def _kind(item: Any, depth: int = 0) -> str:
    """Tell what an entry needs: nothing, a judge, an embedding model, or a function of the suite."""
    name, settings = _parts(item)
    if name != SET:
        kinds = {**dict.fromkeys(JUDGED, "judged"), **dict.fromkeys(SIMILAR, "similar"), CODE: "code"}
        return kinds.get(name, "check")
    inner = {_kind(check, depth + 1) for check in _members(settings)} if depth < _MAX_NESTING else {"code"}
    if inner & {"similar", "code"}:
        raise ValueError(f"`{KEY}` in the metadata has a set with a check that needs an embedding model or a function")
    return "judged" if "judged" in inner else "check"


def _members(settings: Mapping[str, Any]) -> Sequence[Any]:
    checks = settings.get("checks")
    if not isinstance(checks, (list, tuple)) or not checks:
        raise ValueError(f"`{KEY}` in the metadata has a set without `checks`")
    return checks


def _score(item: Any, case: Case, output: Output) -> Score:
    name, settings = _parts(item)
    if name == SET:
        return _set_score(settings, [_score(check, case, output) for check in _members(settings)])
    scorer, own = _prepared(name, settings, case)
    found: Score = scorer(own, output)
    return found


async def _judged_score(item: Any, case: Case, output: Output, judge: ChatModel) -> Score:
    name, settings = _parts(item)
    if name == SET:
        scores = [await _judged_score(check, case, output, judge) for check in _members(settings)]
        return _set_score(settings, scores)
    if name not in JUDGED:
        return _score(item, case, output)
    scorer, own = _prepared(name, settings, case)
    changed = _transformed(settings, case, output)
    score: Score = changed if isinstance(changed, Score) else await scorer(own, changed, judge)
    least = settings.get("threshold")
    return score if least is None or score.value is None else replace(score, passed=meets_threshold(score.value, least))


def _set_score(settings: Mapping[str, Any], scores: Sequence[Score]) -> Score:
    """Combine the scores of a set: their weighted mean, compared with the threshold; without one, all have to pass."""
    for score in scores:
        if score.status != "scored":
            return replace(score, reason=f"{score.name}: {score.reason}")
    weights = [float(weight) for weight in settings.get("weights") or [1.0] * len(scores)]
    values = [_number(score) for score in scores]
    total = sum(weights)
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else 0.0
    least = settings.get("threshold")
    failed = [score.name for score in scores if score.passed is False]
    passed = not failed if least is None else meets_threshold(mean, least)
    reason = f"the mean of {len(scores)} checks is {mean:.3g}" + (f"; failed: {', '.join(failed)}" if failed else "")
    return Score(name=SET, raw=mean, value=mean if 0 <= mean <= 1 else None, passed=passed, reason=reason)


def _number(score: Score) -> float:
    is_plain = isinstance(score.raw, (int, float)) and not isinstance(score.raw, bool) and score.value is None
    return float(score.raw) if is_plain else float(score.value or 0)


def _transformed(settings: Mapping[str, Any], case: Case, output: Output) -> Output | Score:
    """Return the output as the entry's transforms change it, or the error of one of them."""
    if not (codes := settings.get("transform")):
        return output
    scorers = need("evalmark.interop.promptfoo.scorers")
    try:
        changed: Output = scorers.transformed_output(codes, case, output)
    except scorers.LimitError as why:
        return Score(name="transform", status="error", reason=str(why))
    return changed


_OF_ENTRY = ("name", "threshold", "group", "expected", "transform")


def _prepared(name: str, settings: Mapping[str, Any], case: Case) -> tuple[Callable[..., Any], Case]:
    """Return the scorer of an entry, and the case with the entry's own reference answers, if it has some."""
    takes_expected = name.removeprefix("not-") == "structured_output"
    own = {
        key: value for key, value in settings.items() if key not in _OF_ENTRY or (key == "expected" and takes_expected)
    }
    scorer = _scorer(name, canonical(own))
    expected = settings.get("expected")
    if takes_expected or expected is None:
        return scorer, case
    first, *more = expected if isinstance(expected, (list, tuple)) else [expected]
    return scorer, replace(case, expected=first, examples=tuple(Example(value=value) for value in more))


@lru_cache(maxsize=1024)
def _scorer(name: str, settings: str) -> Callable[..., Any]:
    """Make the scorer of a check (cached, since many rows have the same check)."""
    base = name.removeprefix("not-")
    spec = name.removesuffix(base) + _OBJECTS.get(base, base)
    return resolve_scorer(spec, parse_json(settings, KEY), f"`{KEY}` in the metadata", AllowedFolders((Path.cwd(),)))


def entries_in(entries: Any) -> Iterator[Mapping[str, Any]]:
    """Yield entries and those in their sets."""
    for item in entries:
        yield item
        for settings in item.values():
            if isinstance(settings, Mapping) and isinstance(settings.get("checks"), (list, tuple)):
                yield from entries_in(settings["checks"])
