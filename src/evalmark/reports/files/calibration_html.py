"""Calibration report as one HTML file: how far scores separate good from bad outputs."""

from collections.abc import Iterator
from pathlib import Path

from evalmark.reports.html.assets import standalone_values
from evalmark.reports.html.histograms import SplitScores, draw_split_histogram
from evalmark.reports.html.jinja import render_page, template_environment
from evalmark.reports.html.roc import OperatingPoint, RocCurve, draw_roc
from evalmark.reports.html.svg import Figure
from evalmark.stats.agreement.roc import roc_points
from evalmark.stats.calibration.threshold_calibration import BARRED, CalibratedMetric, Calibration

_TEMPLATES = Path(__file__).parent / "templates"


def calibration_as_html(calibration: Calibration) -> Iterator[str]:
    """Yield the page, without scripts or remote content: charts and numbers of each metric."""
    metrics = [(one, _histogram(one), _roc_chart(one)) for one in calibration.metrics]
    values = {**standalone_values(), "calibration": calibration, "metrics": metrics}
    yield render_page(template_environment(_TEMPLATES, {}), "calibration.html", values)


def _histogram(one: CalibratedMetric) -> Figure | None:
    learned = one.learned
    halves = SplitScores(good=one.liked, bad=one.disliked, threshold=learned.threshold, direction=learned.direction)
    return draw_split_histogram(halves, one.metric.name)


def _roc_chart(one: CalibratedMetric) -> Figure | None:
    """Draw the ROC curve of all labelled outputs, including those that can never pass."""
    learned = one.learned
    worst = 1 - BARRED if learned.direction == "lower" else BARRED
    good, bad = ([*values, *[worst] * n] for values, n in zip((one.liked, one.disliked), one.barred, strict=True))
    points = roc_points([*good, *bad], [True] * len(good) + [False] * len(bad), learned.direction)
    errors = learned.in_sample
    chosen = None
    if errors is not None:
        chosen = OperatingPoint(
            good_passed=errors.good - errors.false_fail,
            good=errors.good,
            bad_passed=errors.false_pass,
            bad=errors.bad,
            threshold=learned.threshold,
        )
    curve = RocCurve(
        points=points,
        direction=learned.direction,
        chosen=chosen,
        area=learned.auc,
        interval=learned.auc_interval,
    )
    return draw_roc(curve, one.metric.name)
