"""A page on learned thresholds: how far the scores of good and bad outputs lie apart, in pictures and in figures."""

from collections.abc import Iterator
from pathlib import Path

from evalmark.reports.html.assets import alone
from evalmark.reports.html.histograms import Halves, halves_drawn
from evalmark.reports.html.jinja import environment, page
from evalmark.reports.html.roc import Chosen, Roc, roc_drawn
from evalmark.reports.html.svg import Drawn
from evalmark.stats.agreement.roc import roc_points
from evalmark.stats.calibration.threshold_calibration import BARRED, CalibratedMetric, Calibration

_TEMPLATES = Path(__file__).parent / "templates"
_KINDS = ("liked", "disliked")


def separation_page(found: Calibration) -> Iterator[str]:
    """A page that opens from disk, with no script and nothing remote: the pictures and the figures of every metric."""
    metrics = [(one, _spread(one), _curve(one)) for one in found.metrics]
    values = {**alone(), "found": found, "metrics": metrics}
    yield page(environment(_TEMPLATES, {}), "separation.html", values)


def _spread(one: CalibratedMetric) -> Drawn | None:
    learned = one.learned
    halves = Halves(
        good=one.liked, bad=one.disliked, threshold=learned.threshold, direction=learned.direction, words=_KINDS
    )
    return halves_drawn(halves, one.metric.name)


def _curve(one: CalibratedMetric) -> Drawn | None:
    """The curve of all that the threshold was learned from, outputs that can never pass at its end among them."""
    learned = one.learned
    worst = 1 - BARRED if learned.direction == "lower" else BARRED
    good, bad = ([*values, *[worst] * n] for values, n in zip((one.liked, one.disliked), one.barred, strict=True))
    points = roc_points([*good, *bad], [True] * len(good) + [False] * len(bad), learned.direction)
    errors = learned.in_sample
    chosen = None
    if errors is not None:
        chosen = Chosen(
            good_passed=errors.good - errors.false_fail,
            good=errors.good,
            bad_passed=errors.false_pass,
            bad=errors.bad,
            threshold=learned.threshold,
        )
    curve = Roc(
        points=points,
        direction=learned.direction,
        chosen=chosen,
        area=learned.auc,
        interval=learned.auc_interval,
        words=_KINDS,
    )
    return roc_drawn(curve, one.metric.name)
