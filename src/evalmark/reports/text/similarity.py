"""Notes on the similarity metrics of a RAG run: what they mean and how labels support them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evalmark.core.lazy import LazyModule
from evalmark.core.values.score import Result

# `grounding` is loaded late, since it loads numpy
from evalmark.stats.inference.intervals import Share
from evalmark.stats.inference.means import share_interval
from evalmark.stats.summary.summary import MetricSummary, Summary, SummaryGroup

from .numbers import share_with_interval
from .verdicts import TWINS

if TYPE_CHECKING:
    from evalmark.scoring.builtin import grounding
else:
    grounding = LazyModule("evalmark.scoring.builtin.grounding")

NEEDED = 30
"""Labelled outputs needed to validate the metrics against labels."""
SIMILARITY = (
    "These are similarity measures, not verdicts: a right answer in other words scores low, "
    "a wrong one in the words of the reference scores high."
)


def table_metrics(group: SummaryGroup) -> Sequence[MetricSummary]:
    """List a group's metrics for a table; two names of one number share a row."""
    one, other = (next((m for m in group.metrics if m.name == name), None) for name in TWINS)
    if one is None or other is None or not _same(one, other):
        return group.metrics
    merged = replace(one, name=" = ".join(TWINS))
    return [merged if metric is one else metric for metric in group.metrics if metric is not other]


def _same(one: MetricSummary, other: MetricSummary) -> bool:
    return (one.mean, one.n, one.missing, one.bins, one.pass_rate) == (
        other.mean, other.n, other.missing, other.bins, other.pass_rate,
    )  # fmt: skip


def similarity_notes(summary: Summary, results: Iterable[Result], liked: Mapping[str, bool]) -> list[str]:
    """Describe the metrics, means beyond their usual limits, and support by labels.

    Args:
        summary: the figures of the run.
        results: its trials.
        liked: the labels of the outputs, by trial id.
    """
    beyond = [
        f"{metric.name} {metric.mean:z.3f} {'>' if metric.direction == 'lower' else '<'} {flag.limit:g} ({flag.line})"
        for group in summary.groups
        for metric in group.metrics
        if metric.name != TWINS[0]
        and (flag := grounding.FLAGS.get(metric.name)) is not None
        and flag.is_beyond(metric.mean)
    ]
    notes = [SIMILARITY]
    if beyond:
        notes.append(f"Means beyond the usual limits: {'; '.join(beyond)}.")
    if len(liked) < NEEDED:
        needed = f"{len(liked)} of the {NEEDED} labelled outputs that are needed"
        notes.append(f"Not validated on your data: {needed}. Label some with `evalmark view` or `evalmark note`.")
        return notes
    return [*notes, *_validated(list(results), liked)]


def _validated(results: Sequence[Result], liked: Mapping[str, bool]) -> list[str]:
    notes = [f"Compared with your {len(liked)} labelled outputs, taken as a random sample:"]
    for name, flag in grounding.FLAGS.items():
        if name == TWINS[0]:
            continue
        flagged: list[bool] = []
        rest: list[bool] = []
        for result in results:
            score = next((score for score in result.scores if score.name == name), None)
            if result.trial.id in liked and score is not None and score.value is not None:
                (flagged if flag.is_beyond(score.value) else rest).append(not liked[result.trial.id])
        if flagged or rest:
            sign = ">" if flag.direction == "lower" else "<"
            notes.append(
                f"{name} {sign} {flag.limit:g}: {_bad(flagged)} of the flagged are bad; {_bad(rest)} of the others."
            )
    return notes


def _bad(disliked: Sequence[bool]) -> str:
    n = len(disliked)
    return (
        share_with_interval(
            Share(passed=sum(disliked), n=n, value=sum(disliked) / n, interval=share_interval(disliked)), "output"
        )
        if n
        else "none"
    )
