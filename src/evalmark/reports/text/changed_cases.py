"""Text of the cases that changed between two runs: how each changed, its scores and the largest changes."""

from collections.abc import Sequence
from typing import NamedTuple

from evalmark.core.case_titles import case_title
from evalmark.core.text import one_line
from evalmark.core.values.score import Result
from evalmark.stats.comparison.change import Flip, MetricChange, Outcome, TargetChange
from evalmark.stats.comparison.compared_cases import CaseOutcome, ComparedCases
from evalmark.stats.comparison.flip_examples import FlipExample

from .change_words import CASE_WORDS, OUTCOME_WORDS
from .comparison import (
    TWO_RUNS,
    SideNames,
    change_sentence,
    change_verdict,
    metric_name,
    metric_value,
    p_value_text,
    plain_difference,
    signed_difference,
)
from .numbers import number_text, percent
from .verdicts import deciding_scores, score_text

_NAME = 60
"""Longest name in characters."""


class ChangedCases(NamedTuple):
    """Cases that changed, and the metric that says so."""

    change: MetricChange
    flips: Sequence[Flip]

    @property
    def heading(self) -> str:
        """Heading of the list of cases."""
        return f"cases by {metric_name(self.change)}" if self.change.name else "flips"


def summary_cases(target: TargetChange) -> ChangedCases:
    """Choose the changed cases for a summary line: by the deciding metric, else by pass or fail."""
    is_decided = target.outcome_of(target.deciding) in ("better", "worse")
    if is_decided or not target.overall.difference.n:
        return ChangedCases(target.deciding, target.moved)
    return ChangedCases(target.overall, target.flips)


def summary_line(target: TargetChange) -> tuple[str, Outcome]:
    """Summarize the changes of one target in a line, with the verdict."""
    change, matching = summary_cases(target).change, target.matching
    difference, (worse, better) = change.difference, change.moved
    left = matching.common - difference.n + len(matching.new) + len(matching.gone) + len(matching.edited)
    parts = [_counts(change)]
    parts += [f"{left:,} not compared"] if left else []
    counts = ", ".join(parts) + (f" by {metric_name(change)}" if change.name else "")
    if difference.n and not worse + better and not difference.missing and difference.outcome == "cannot tell":
        return f"{counts}: nothing changed", "same"
    p = difference.verdict_p
    luck = "" if p is None else f" (p = {p_value_text(p, difference.interval.level)})"
    return f"{counts}: {change_verdict(difference, change)}{luck}", change.outcome


def flip_name(flip: Flip) -> str:
    """Return the title of a case that changed."""
    return one_line(case_title(flip.case, flip.asked), _NAME)


def case_counts(target: TargetChange) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """For each change: how many cases became worse, stayed, became better, and the largest changes."""
    return [(metric_name(change), _single(change)) for change in target.changes]


def _single(change: MetricChange) -> list[tuple[str, str, str]]:
    ends = (-change.ordered[0], change.ordered[-1]) if change.ordered else (0.0, 0.0)
    worst, best = (plain_difference(change, end) if end > 0 else "" for end in ends)
    worse, better = change.moved
    return [
        (CASE_WORDS["worse"], f"{worse:,}", worst if worse else ""),
        (CASE_WORDS["same"], f"{change.stayed:,}", ""),
        (CASE_WORDS["better"], f"{better:,}", best if better else ""),
    ]


def decided_metrics(target: TargetChange) -> list[str]:
    """List the metrics that became better or worse, one line each."""
    return [
        f"{OUTCOME_WORDS[change.outcome]}: {change_sentence(change, None)}"
        for change in target.metrics
        if change.outcome in ("better", "worse")
    ]


def changed_cases(target: TargetChange) -> list[ChangedCases]:
    """Cases that changed by the deciding metric, then those that changed between pass and fail."""
    changed = [ChangedCases(target.deciding, target.moved)]
    if target.deciding.name:
        changed.append(ChangedCases(target.overall, target.flips))
    return [one for one in changed if one.flips]


def changed_cases_title(changed: ChangedCases, heads: SideNames = TWO_RUNS) -> str:
    """Count the cases that regressed, improved and stayed the same."""
    return _counts(changed.change, f" with {heads.now}" if heads.of_one_run else "")


def _counts(change: MetricChange, where: str = "") -> str:
    (worse, better), same = change.moved, change.stayed
    counts = (f"{worse:,} {CASE_WORDS['worse']}{where}", f"{better:,} {CASE_WORDS['better']}")
    return f"{', '.join(counts)}, {same:,} {CASE_WORDS['same']}"


def flip_line(flip: Flip, heads: SideNames = TWO_RUNS, *, several: bool = False) -> tuple[str, str]:
    """A case and its change; with the dataset if there are several."""
    dataset = f" ({one_line(flip.dataset, 60)})" if several else ""
    return f"{one_line(case_title(flip.case, flip.asked), 100)}{dataset}", flip_text(flip, heads)


def flip_text(flip: Flip, heads: SideNames = TWO_RUNS) -> str:
    """Describe how a case changed."""
    if flip.metric:
        return _score_change_text(flip, heads)
    is_whole = {flip.before, flip.now} == {0.0, 1.0}
    if heads.of_one_run and is_whole:
        return f"passes only with {heads.before if flip.before else heads.now}"
    if heads.of_one_run:
        return f"passes {percent(flip.now)} of its repeats, with {heads.before} {percent(flip.before)}"
    if is_whole:
        return "passed, fails now" if flip.before else "failed, passes now"
    return f"passed {percent(flip.before)} of its repeats, now {percent(flip.now)}"


def _score_change_text(flip: Flip, heads: SideNames) -> str:
    name = one_line(flip.metric, _NAME)
    if _is_truth(flip.is_share, flip.before, flip.now):
        before, now = _truth(flip.before), _truth(flip.now)
        return (
            f"{name} was {before}, is {now} now"
            if not heads.of_one_run
            else f"{name} is {now} with {heads.now}, {before} with {heads.before}"
        )
    before, now = (percent(n) if flip.is_share else number_text(n, flip.unit) for n in (flip.before, flip.now))
    if heads.of_one_run:
        return f"{name} is {now} with {heads.now}, {before} with {heads.before}"
    return f"{name} {'rose' if flip.now > flip.before else 'fell'} from {before} to {now}"


def more_flips(changed: ChangedCases, shown: int) -> str:
    """Say how many more changed cases exist; empty if all are shown."""
    left = len(changed.flips) - shown
    return f"and {left:,} more; show all with -n {len(changed.flips)}" if shown and left > 0 else ""


def pair_scores(pair: FlipExample) -> list[tuple[str, str]]:
    """Pairs `(before, now)` of the scores that decided either result."""
    return deciding_texts(pair.before, pair.now, pair.flip.metric)


def deciding_texts(
    before: Result, now: Result, metric: str = "", *, with_reason: bool = False
) -> list[tuple[str, str]]:
    """Pairs `(before, now)` of the deciding scores of any two results; `with_reason` leaves out those without a reason."""
    decided = [score for result in (before, now) for score in deciding_scores(result)]
    names = dict.fromkeys(([metric] if metric else []) + [score.name for score in decided])
    if with_reason:
        reasoned = {score.name for result in (before, now) for score in result.scores if score.reason}
        names = {name: None for name in names if name in reasoned}
    return [(_score_text_of(before, name), _score_text_of(now, name)) for name in names]


class CaseScore(NamedTuple):
    """One metric's scores of a case in two runs."""

    metric: str
    before: str
    now: str
    difference: str
    outcome: CaseOutcome | None


def case_scores(cases: ComparedCases, case: int) -> list[CaseScore]:
    """List every metric's score of a case in both runs; repeats are averaged."""
    return [
        _case_score(change, values, gain, cases.outcome(number, case))
        for number, change in enumerate(cases.change.changes)
        if (values := cases.values[number][case]) is not None and (gain := cases.gain(number, case)) is not None
    ]


def _case_score(
    change: MetricChange, values: tuple[float, float], gain: float, outcome: CaseOutcome | None
) -> CaseScore:
    """Format the scores of one case: yes and no if all of its repeats agree."""
    before, now = values
    is_truth = _is_truth(change.is_share and bool(change.name), before, now)
    return CaseScore(
        metric=metric_name(change),
        before=_truth(before) if is_truth else metric_value(change, before),
        now=_truth(now) if is_truth else metric_value(change, now),
        difference="" if is_truth else signed_difference(change, gain),
        outcome=outcome,
    )


def _is_truth(is_share: bool, *values: float) -> bool:
    return is_share and {*values} <= {0.0, 1.0}


def _truth(value: float) -> str:
    return "yes" if value else "no"


def _score_text_of(result: Result, name: str) -> str:
    scores = [score for score in result.scores if score.name == name]
    return " ".join(
        f"{one_line(name, _NAME)}: {score_text(score, {})}{'. ' if score.reason else ''}{one_line(score.reason)}"
        for score in scores
    )
