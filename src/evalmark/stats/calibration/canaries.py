"""Canaries: outputs that no judge should pass, and padded copies of outputs, which no judge should prefer."""

import math
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result
from evalmark.inputs.documents.document import document_of
from evalmark.scoring.binding.text import text_of
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Share
from evalmark.stats.inference.means import share
from evalmark.stats.inference.paired import mcnemar

from .audit import number_of, verdict_of

CASES = 3
"""The default number of cases for each canary."""
PADDED = "padded"
"""The tag of a padded copy of an output."""
PADDED_EACH = 4
"""How many outputs are padded for each case that gets canaries."""
FILLER = (
    "\n\nTo sum up, everything that matters has been said above. It has been put as clearly as possible, with all the "
    "points that belong here, and in the order in which they belong."
)
_SLOT = "{{input}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A text that is no valid output for any input."""

    kind: str
    text: str
    """`{{input}}` stands for the input of the case."""

    @property
    def id(self) -> str:
        """The id: 8 hex digits."""
        return fingerprint("canary-1", self.kind, self.text)[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedCanaries:
    """How many canaries of one kind a judge passed."""

    kind: str
    """Empty: all kinds together."""
    share: Share
    unjudged: int = 0
    """Canaries without a verdict."""
    texts: tuple[str, ...] = ()
    """The distinct texts that passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingEffect:
    """How a judge scores outputs with padding, compared with the same outputs without it."""

    outputs: int
    better: int
    """Outputs whose padded copy scores better."""
    worse: int
    p: float
    """How probable so uneven a change is if padding does not matter (exact sign test)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryScores:
    """The scores of worthless texts by a judge that gives more than two values."""

    mean: float
    low: float
    """The lowest score of all outputs and canaries."""
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryReport:
    """What canaries show of one judge."""

    passed: tuple[PassedCanaries, ...]
    """Of all kinds first, then of each kind."""
    padding: PaddingEffect | None = None
    """None if no padded output was judged."""
    scores: CanaryScores | None = None
    """None if the judge only passes or fails."""


@cache
def builtin_canaries() -> tuple[Canary, ...]:
    """Return the built-in canaries, grouped by kind."""
    name = "canaries.yaml"
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    said = document_of(text, Path(name), is_text=lambda key: key == "text").data
    return tuple(
        Canary(kind=kind, text=row["text"] * row.get("times", 1)) for kind, rows in said.items() for row in rows
    )


@check_arguments
def canary_cases(results: Iterable[Result], most: int = CASES, seed: int = 0) -> tuple[Case, ...]:
    """Return every canary as the output of some cases, drawn with a fixed seed.

    Cases keep what the judge sees: input, examples, contexts and history. The kind is a tag.
    """
    cases = list({result.trial.case.id: result.trial.case for result in results}.values())
    drawn = random.Random(seed).sample(cases, min(most, len(cases)))  # noqa: S311  no secret
    return tuple(_standing_in(canary, case) for canary in builtin_canaries() for case in drawn)


@check_arguments
def padded_cases(results: Iterable[Result], most: int = CASES, seed: int = 0) -> tuple[Case, ...]:
    """Return copies of outputs that say the same at greater length: repeated, or with empty words at the end.

    The id of a case is that of the trial whose output it copies.
    """
    texts = [one for one in results if isinstance(one.output.value, str) and one.output.value.strip()]
    texts = [one for one in texts if one.output.error is None and one.trial.mode == "single"]
    drawn = random.Random(seed).sample(texts, min(PADDED_EACH * most, len(texts)))  # noqa: S311  no secret
    return tuple(_padded(one, repeated=number % 2 == 0) for number, one in enumerate(drawn))


def _padded(result: Result, *, repeated: bool) -> Case:
    text = str(result.output.value)
    given = Output(value=f"{text}\n\n{text}\n\n{text}" if repeated else text + FILLER, contexts=result.output.contexts)
    return replace(result.trial.case, id=f"{PADDED}/{result.trial.id}", given=given, tags=(PADDED,), place="")


def _standing_in(canary: Canary, case: Case) -> Case:
    text = canary.text.replace(_SLOT, text_of(case.input))
    given = Output(value=text)
    return replace(case, id=f"{canary.id}/{case.id}", given=given, tags=(canary.kind,), place="")


@check_arguments
def canaries_passed(
    results: Iterable[Result], metric: Metric, *, threshold: float | None = None, level: float = LEVEL
) -> tuple[PassedCanaries, ...]:
    """Return the share of canaries that a judge passed: of all kinds first, then of each kind.

    An unusable verdict does not pass.
    """
    rows: defaultdict[str, list[tuple[str, str, bool | None]]] = defaultdict(list)
    for result in results:
        case = result.trial.case
        for score in result.scores:
            if score.name == metric.name and case.tags and case.tags[0] != PADDED:
                told = (case.id.partition("/")[0], text_of(result.output.value), verdict_of(score, threshold))
                rows[case.tags[0]].append(told)
    every = [row for group in rows.values() for row in group]
    return (_passed("", every, level), *(_passed(kind, group, level) for kind, group in rows.items()))


def _passed(kind: str, rows: Sequence[tuple[str, str, bool | None]], level: float) -> PassedCanaries:
    judged = [(name, text, verdict) for name, text, verdict in rows if verdict is not None]
    return PassedCanaries(
        kind=kind,
        # repeats of one canary are clustered
        share=share([int(verdict) for *_, verdict in judged], [name for name, *_ in judged], level),
        unjudged=len(rows) - len(judged),
        texts=tuple(dict.fromkeys(text for _, text, verdict in judged if verdict)),
    )


@check_arguments
def canary_report(
    results: Iterable[Result],
    originals: Iterable[Result],
    metric: Metric,
    *,
    threshold: float | None = None,
    level: float = LEVEL,
) -> CanaryReport:
    """Report what canaries show of a judge; `originals` are the results of the run that they were made from."""
    judged = list(results)
    before = {one.trial.id: value for one in originals if (value := _value(one, metric)) is not None}
    padded = [
        (before[name], value)
        for one in judged
        if one.trial.case.tags[:1] == (PADDED,)
        and (value := _value(one, metric)) is not None
        and (name := one.trial.case.id.removeprefix(f"{PADDED}/")) in before
    ]
    worthless = [
        value for one in judged if one.trial.case.tags[:1] != (PADDED,) and (value := _value(one, metric)) is not None
    ]
    return CanaryReport(
        passed=canaries_passed(judged, metric, threshold=threshold, level=level),
        padding=_padding(padded, metric) if padded else None,
        scores=_scores(worthless, before.values()),
    )


def _value(result: Result, metric: Metric) -> float | None:
    return next((number_of(score) for score in result.scores if score.name == metric.name), None)


def _padding(pairs: Sequence[tuple[float, float]], metric: Metric) -> PaddingEffect:
    sign = -1 if metric.direction == "lower" else 1
    changes = [sign * (after - before) for before, after in pairs]
    better, worse = sum(change > SAME for change in changes), sum(change < -SAME for change in changes)
    p = mcnemar(better, worse).exact
    return PaddingEffect(outputs=len(pairs), better=better, worse=worse, p=1.0 if p is None else p)


SAME = 1e-9
"""Scores that differ by no more than this are the same."""


def _scores(worthless: Sequence[float], others: Collection[float]) -> CanaryScores | None:
    every = [*worthless, *others]
    if not worthless or set(every) <= {0.0, 1.0}:
        return None
    return CanaryScores(mean=math.fsum(worthless) / len(worthless), low=min(every), high=max(every))
