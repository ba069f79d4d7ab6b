"""A score as a page shows it in the least room."""

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score, Verdict
from evalmark.reports.text.verdicts import verdict_of


def short(score: Score, metric: Metric | None) -> str:
    """What a score says in the least room; its threshold stands in the head of the column.

    >>> short(Score(name="similarity", raw=0.41, value=0.41), None)
    '0.410'
    """
    if score.status != "scored":
        return score.status
    return verdict_of(score.raw, score.value, metric.unit if metric else "")


def kind_of(score: Score) -> Verdict | str:
    """How a score ended, as the word that a page gives a sign and a colour."""
    if score.status != "scored":
        return score.status
    return {True: "pass", False: "fail", None: "ungated"}[score.passed]
