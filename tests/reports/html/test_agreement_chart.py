"""Judges beside people and beside each other: the figures on the picture are those of the statistics."""

from itertools import product

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.agreement_chart import draw_agreement, draw_flips
from evalmark.reports.html.trend_chart import RunMetrics, TrendRun, pass_rate_lines, run_metrics, trend_lines
from evalmark.reports.text.numbers import DASH, interval_ends, with_minus
from evalmark.stats.calibration.audit import audit_judge
from evalmark.stats.calibration.audit_results import GroundTruth
from evalmark.stats.calibration.labelled_scores import LabelledScores
from evalmark.stats.inference.intervals import Share, wilson
from evalmark.stats.inference.means import share_interval
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.stats.summary.summarise import summarise

JUDGES = tuple(Metric(name=f"kind [{judge}]", base="kind", judge=judge, threshold=0.5) for judge in "ab")


def results(targets=("t",), datasets=("d",), repeats=2, n=40):
    for target in targets:
        for dataset in datasets:
            for case in range(n):
                for repeat in range(repeats):
                    passed = {"a": (case * 7 + repeat) % 5 > 0, "b": (case * 3 + repeat) % 4 > 0}
                    scores = tuple(
                        Score(
                            name=f"kind [{judge}]",
                            raw=passed[judge],
                            value=float(passed[judge]),
                            passed=passed[judge],
                            detail={"flipped": case % 9 == 0},
                        )
                        for judge in "ab"
                    )
                    trial = Trial(case=Case(id=str(case)), dataset=dataset, target=target, position=case, repeat=repeat)
                    yield Result(trial=trial, output=Output(value="x"), scores=scores)


def a_run(name="r", gate=None, **fields):
    found = list(results(**fields))
    datasets = tuple(DatasetInfo(name=each) for each in fields.get("datasets", ("d",)))
    return Run(id=name, name=name, created="", metrics=JUDGES, datasets=datasets, repeat=2, gate=gate, results=found)


def test_agreement_is_that_of_an_audit_and_of_the_run():
    run = a_run()
    truths = {r.trial.id: int(r.trial.case.id) % 3 > 0 for r in run.results if int(r.trial.case.id) % 2}
    known = LabelledScores(run.metrics, lambda result: truths.get(result.trial.id))
    for result in run.results:
        known.add(result)
    summary = summarise(run)
    drawn = draw_agreement(known.separated(), summary.agreements, "people")
    for metric, row in zip(JUDGES, drawn.rows, strict=False):
        audit = audit_judge(run.results, metric, GroundTruth(verdicts=truths, source="people"))
        counts = audit.confusion
        assert row[0] == f"{metric.name} and people"
        assert row[2:4] == (
            with_minus(f"{audit.kappa:.2f}"),
            interval_ends(audit.kappa_interval),
        )
        assert row[4] == with_minus(f"{audit.alpha:.2f}")
        assert row[6:] == tuple(
            str(n) for n in (counts.n, counts.good_passed, counts.good_failed, counts.bad_passed, counts.bad_failed)
        )
    (pair,) = summary.agreements[0].pairs
    assert drawn.rows[2][:3] == ("kind: a and b", f"{100 * pair.same.value:.1f} %", with_minus(f"{pair.kappa:.2f}"))
    assert str(drawn.picture).count('class="dot"') == 2
    assert str(drawn.picture).count('class="hollow"') == 1


def test_without_labels_judges_are_compared_with_each_other_alone():
    drawn = draw_agreement((), summarise(a_run()).agreements, "people")
    assert [row[0] for row in drawn.rows] == ["kind: a and b"]
    assert len(drawn.rows[0]) == len(drawn.heads) == 7
    assert draw_agreement((), (), "people") is None


def test_flips_are_counted_by_target_with_their_intervals():
    summary = summarise(a_run(targets=("t", "u")))
    drawn = draw_flips(summary)
    (first, second) = summary.groups
    assert [row[0] for row in drawn.rows] == [
        "outputs of t",
        "outputs of u",
        "kind [a] on t",
        "kind [a] on u",
        "kind [b] on t",
        "kind [b] on u",
    ]
    assert drawn.rows[0][1] == f"{first.tally.flips} of 40"
    around = wilson(first.tally.flips, 40)
    assert drawn.rows[0][3] == f"{100 * around.low:.1f} {DASH} {100 * around.high:.1f} %"
    assert drawn.rows[2][1] == f"{first.metrics[0].steadiness.flipped.passed} of 80"
    assert second.metrics[0].steadiness.flipped.passed == 10


def test_flips_are_a_share_of_the_cases_that_could_flip_and_count_documents():
    answers = ["pf", "pp", "fp", "ff", "pe", "ee", "pf", "pp", "pp", "fe", "pf", "pp"]
    found = []
    for (number, case), repeat in product(enumerate(answers), range(2)):
        trial = Trial(
            case=Case(id=str(number), input=number, metadata={"document": number // 6}),
            dataset="d",
            target="t",
            position=number,
            repeat=repeat,
        )
        passed = case[repeat] == "p"
        failed = Output(error="ValueError") if case[repeat] == "e" else Output(value="x")
        scores = () if failed.error else (Score(name="m", value=float(passed), passed=passed),)
        found.append(Result(trial=trial, output=failed, scores=scores))
    datasets = (DatasetInfo(name="d", cluster="document"),)
    run = Run(id="r", name="r", created="", metrics=(Metric(name="m"),), datasets=datasets, repeat=2, results=found)
    (group,) = summarise(run).groups
    around = share_interval([1, 0, 1, 0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1], unit="document")
    assert (group.tally.flips, group.tally.cases) == (4, 12)
    assert (group.flipped.passed, group.flipped.n, group.flipped.interval) == (4, 9, around)
    assert draw_flips(summarise(run)).rows[0][1] == "4 of 9"


def test_what_came_once_cannot_flip():
    run = Run(id="r", name="r", created="", metrics=(Metric(name="m"),), results=[next(iter(results()))])
    assert draw_flips(summarise(Run(id="r", name="r", created="", results=[]))) is None
    assert [row[0] for row in draw_flips(summarise(run)).rows] == ["kind [a]", "kind [b]"]


def trend_run(place, run):
    summary, verdict = summary_and_verdict(run)
    return TrendRun(
        place=place,
        description=run.id,
        series=run.name,
        passed=summary.total.pass_rate,
        metrics=run_metrics(summary, verdict),
    )


def test_the_lines_of_a_course_are_the_whole_and_each_part():
    run = a_run(datasets=("d", "e"), gate=Gate(min_pass_rate=0.9))
    found = trend_run(0, run)
    lines, unit = trend_lines([found], "pass rate")
    assert [line.name for line in lines] == ["all", "d", "e"]
    assert unit == "share"
    summary = summarise(run)
    assert lines[0].points[0].value == summary.total.pass_rate.value
    assert lines[1].points[0].interval == summary.groups[0].tally.pass_rate.interval
    assert {point.outcome for line in lines for point in line.points} == {"fail"}
    means, unit = trend_lines([found], "kind [a]")
    assert [line.name for line in means] == ["d", "e"]
    assert means[0].points[0].value == summary.groups[0].metrics[0].mean


def test_a_run_without_figures_has_its_pass_rate_alone_and_no_word_of_its_gate():
    share = Share(passed=9, n=10, value=0.9, interval=wilson(9, 10))
    found = TrendRun(place=0, description="r", series="s", passed=share)
    lines, _ = trend_lines([found], "pass rate")
    assert [(point.value, point.outcome) for point in lines[0].points] == [(0.9, "")]
    assert trend_lines([found], "kind [a]") == ([], "")
    nothing = TrendRun(place=0, description="r", series="s", passed=share, metrics=RunMetrics(outcome="", figures={}))
    assert trend_lines([nothing], "pass rate") == ([], "")


def test_figures_on_another_scale_than_the_newest_are_left_out():
    def with_unit(place, unit, value):
        metric = Metric(name="m", unit=unit)
        result = Result(
            trial=Trial(case=Case(id="1")),
            output=Output(value="x"),
            scores=(Score(name="m", raw=value, value=None if unit else value),),
        )
        return trend_run(place, Run(id=str(place), name="r", created="", metrics=(metric,), results=[result]))

    lines, _ = trend_lines([with_unit(0, "edits", 7), with_unit(1, "", 0.7)], "m")
    assert [(point.place, point.value) for line in lines for point in line.points] == [(1, 0.7)]


@pytest.mark.parametrize("n", [1, 9])
def test_each_of_several_suites_has_a_line_those_of_the_newest_runs_first(n):
    share = Share(passed=9, n=10, value=0.9, interval=wilson(9, 10))
    found = [TrendRun(place=k, description="r", series=f"s{k % n}", passed=share) for k in range(18)]
    lines = pass_rate_lines(found, {})
    assert [line.name for line in lines] == [f"s{k % n}" for k in range(17, 17 - min(n, 6), -1)]
