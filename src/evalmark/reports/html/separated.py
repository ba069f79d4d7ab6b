"""How one metric tells good outputs from bad ones: its scores back to back, and its ROC curve."""

from evalmark.stats.agreement.roc import auc, auc_interval, roc_points
from evalmark.stats.calibration.labelled_scores import MetricSeparation

from .histograms import Halves, halves_drawn
from .roc import Chosen, Roc, roc_drawn
from .svg import Drawn


def separated_drawn(found: MetricSeparation, words: tuple[str, str]) -> tuple[Drawn | None, Drawn | None]:
    """Both pictures; `words` say what good and bad outputs are called. None where there is nothing to be seen.

    The ring is where the verdicts of the run lie, which for a metric that does more than compare may be off the curve.
    """
    name, table = found.metric.name, found.compared.confusion
    good, bad = ([value for value in values if 0 <= value <= 1] for values in (found.good, found.bad))
    halves = Halves(good=good, bad=bad, threshold=_within(found), direction=found.direction, words=words)
    if not found.good or not found.bad:
        return halves_drawn(halves, name), None
    points = roc_points([*found.good, *found.bad], [True] * len(found.good) + [False] * len(found.bad), found.direction)
    area = auc(points)
    chosen = Chosen(
        good_passed=table.good_passed,
        good=table.good,
        bad_passed=table.bad_passed,
        bad=table.n - table.good,
        threshold=found.metric.threshold,
    )
    roc = Roc(
        points=points,
        direction=found.direction,
        chosen=chosen if table.n else None,
        area=area,
        interval=auc_interval(area, len(found.good), len(found.bad)),
        words=words,
    )
    return halves_drawn(halves, name), roc_drawn(roc, name)


def _within(found: MetricSeparation) -> float | None:
    threshold = found.metric.threshold
    return threshold if threshold is not None and 0 <= threshold <= 1 else None
