"""Charts that set scores beside what is known of the outputs count documents, and leave out numbers without known ends."""

import random

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.metric_charts import result_charts
from evalmark.reports.text.numbers import interval_ends
from evalmark.stats.agreement.kappa_alpha import kappa_with_interval
from evalmark.stats.agreement.roc import auc, auc_interval, roc_points
from evalmark.stats.summary.summarise import summarise

DOCUMENTS, OF_EACH = 12, 5


def a_run(cluster: str, repeats: int = 1) -> Run:
    """Return outputs that resemble each other within a document."""
    draw, found = random.Random(3), []  # noqa: S311  the same every time
    for number in range(DOCUMENTS * OF_EACH):
        document = number // OF_EACH
        for repeat in range(repeats):
            value = min(1.0, max(0.0, (document * 5 % 12) / 12 + draw.uniform(-0.2, 0.2)))
            true = draw.random() < 0.2 + 0.6 * value
            judged = Score(name="judge", raw=value, value=value, passed=value >= 0.5)
            known = Score(name="truth", raw=true, value=float(true), passed=true)
            words = draw.gauss(0, 3)
            length = Score(name="words", raw=words, value=words if 0 <= words <= 1 else None)
            case = Case(id=str(number), input=number, metadata={"document": document})
            trial = Trial(case=case, dataset="d", target="t", position=number, repeat=repeat)
            found.append(Result(trial=trial, output=Output(value="x"), scores=(judged, known, length)))
    return Run(
        id="r",
        name="r",
        created="",
        metrics=(Metric(name="judge", threshold=0.5), Metric(name="truth"), Metric(name="words")),
        datasets=(DatasetInfo(name="d", cluster=cluster),),
        repeat=repeats,
        results=found,
    )


@pytest.mark.parametrize(
    ("cluster", "repeats"),
    [
        pytest.param("", 1, id="independent cases"),
        pytest.param("", 3, id="repeats"),
        pytest.param("document", 1, id="cases of documents"),
        pytest.param("document", 2, id="repeats of cases of documents"),
    ],
)
def test_intervals_of_kappa_and_of_the_area_count_what_is_independent(cluster, repeats):
    run = a_run(cluster, repeats)
    charts = result_charts(run, summarise(run), "truth", (), lambda _: None)
    rows = [(r.scores[0], r.scores[1].passed, r.trial) for r in run.results]
    units = [trial.case.metadata["document"] if cluster else trial.case.id for _, _, trial in rows]
    truth = [known for _, known, _ in rows]
    _, kappa = kappa_with_interval(
        truth, [score.passed for score, _, _ in rows], clusters=None if len({*units}) == len(units) else units
    )
    good, bad = ({unit for unit, known in zip(units, truth, strict=True) if known is which} for which in (True, False))
    area = auc(roc_points([score.value for score, _, _ in rows], truth, "higher"))
    around = auc_interval(area, len(good), len(bad))
    _, roc = charts.kinds["judge"]
    assert charts.agreement.rows[0][3] == interval_ends(kappa)
    assert f"AUC {area:.3f} (95 % interval {around.low:.3f} \N{EN DASH} {around.high:.3f})" in roc.notes[0]


def test_numbers_without_known_ends_are_not_set_beside_labels_by_the_few_from_0_to_1():
    run = a_run("")
    assert next(metric for metric in summarise(run).metrics if metric.name == "words").scale == "raw"
    assert "words" not in result_charts(run, summarise(run), "truth", (), lambda _: None).kinds
