"""Two runs are judged by one rule, that of the newer run; what cannot be is no part of the verdict."""

from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric, metrics_for
from evalmark.core.values.score import Trial
from evalmark.reports.files.comparison_json import comparison_values
from evalmark.reports.text.comparison import verdict_sentence
from evalmark.stats.comparison.baseline_outputs import baseline_outputs
from evalmark.stats.comparison.flip_examples import flip_examples

LOW, HIGH = [0.1] * 14 + [0.5] * 6, [0.1] * 6 + [0.5] * 14


def result(number, scores, dataset="d", output="x", target="app"):
    case = Case(id=f"c{number}", input=f"question {number}")
    trial = Trial(case=case, dataset=dataset, position=number, target=target)
    return Result(trial=trial, output=Output(value=output), scores=tuple(scores))


def score(name, value, metric, **fields):
    """A score as a scorer gives it that is held to the threshold of its metric."""
    at_most = metric.direction == "lower"
    passed = None if metric.threshold is None else (value <= metric.threshold if at_most else value >= metric.threshold)
    return Score(
        **{"name": name, "raw": value, "value": value, "direction": metric.direction, "passed": passed} | fields
    )


def run(name, values, *metrics, output="x", **fields):
    """A run in which every metric gives the same values, one a case; `values` may also be a list for each metric."""
    columns = values if isinstance(values[0], list) else [values] * len(metrics)
    results = [
        result(
            number, [score(m.name, value, m) for m, value in zip(metrics, row, strict=True)], output=f"{output}{number}"
        )
        for number, row in enumerate(zip(*columns, strict=True))
    ]
    known = {"suite": "bot.yaml", "datasets": (DatasetInfo(name="d"),)} | fields
    return Run(id=name, name="bot", created="2026-11-22T00:00:00Z", metrics=metrics, results=results, **known)


def sim(threshold=None, **fields):
    return Metric(**{"name": "sim", "threshold": threshold, "version": "1"} | fields)


@pytest.mark.parametrize(
    ("now", "then", "today", "own"),
    [
        pytest.param(0.05, 0.3, 20, 6, id="loosened"),
        pytest.param(0.3, 0.05, 6, 20, id="tightened"),
        pytest.param(0.3, None, 6, None, id="a threshold where there was none"),
    ],
)
@pytest.mark.parametrize("output", ["x", "y"], ids=["the same answers", "other answers"])
def test_another_threshold_is_no_change_of_the_target(now, then, today, own, output):
    found = compare(run("now", LOW, sim(now), output=output), run("then", LOW, sim(then)))
    assert found.outcome == ("same" if output == "x" else "cannot tell")
    overall = found.targets[0].overall
    assert overall.before == overall.now == today / 20
    assert found.targets[0].flips == ()
    (change,) = found.rules.changes
    assert (change.compared, change.rejudged.today, change.rejudged.then) == ("all", today, own)
    assert any("threshold of the newer run" in warning and f"{today} of 20" in warning for warning in found.warnings)
    assert not found.rescore


def test_a_metric_that_only_had_a_threshold_neither_passes_nor_fails_in_either_run():
    found = compare(run("now", LOW, sim(None)), run("then", LOW, sim(0.3)))
    assert found.outcome == "same"
    assert [change.name for change in found.targets[0].changes] == ["sim"]
    assert found.warnings[0].endswith(
        "In the newer run they neither pass nor fail; 6 of 20 scores of the baseline passed."
    )


@pytest.mark.parametrize(("now", "then", "today"), [(0.9, 0.2, 1.0), (0.2, 0.9, 0.7)], ids=["loosened", "tightened"])
def test_where_lower_is_better_a_threshold_is_the_most_that_passes(now, then, today):
    def lower(threshold):
        return sim(threshold, direction="lower")

    found = compare(run("now", LOW, lower(now)), run("then", LOW, lower(then)))
    assert (found.outcome, found.targets[0].overall.before) == ("same", today)


def test_a_true_change_is_told_under_the_newer_threshold():
    found = compare(run("now", [0.1] * 40, sim(0.3)), run("then", [0.5] * 40, sim(0.6)))
    assert found.outcome == "worse"
    assert (found.targets[0].overall.before, found.targets[0].overall.now) == (1.0, 0.0)
    assert compare(run("now", [0.5] * 40, sim(0.3)), run("then", [0.1] * 40, sim(0.01))).outcome == "better"


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        pytest.param({"judge": "openai/b"}, {"judge": "openai/a"}, "the judge was openai/a and is now", id="judge"),
        pytest.param({"judge": "openai/a"}, {}, "the judge was none", id="a judge where there was none"),
        pytest.param({"version": "2"}, {}, "the scorer's code or settings have changed", id="code"),
        pytest.param({"version": "2", "judge": "a"}, {"judge": "a"}, "prompt or settings have changed", id="prompt"),
        pytest.param({"direction": "lower"}, {}, "higher was better and now lower is", id="direction"),
    ],
)
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_what_another_scorer_or_judge_said_is_not_compared(now, then, said, threshold):
    newer = run("now", [0.9] * 40, sim(threshold, **now))
    found = compare(newer, run("then", [0.1] * 40, sim(threshold, **then)))
    assert (found.outcome, found.exit_code) == ("cannot tell", 3)
    assert said in found.warnings[0]
    assert found.rescore.startswith("evalmark rescore then")
    assert ("--judge" in found.rescore) is ("judge" in now and now["judge"] != then.get("judge"))
    same = run("then", [0.9] * 40, sim(threshold, **then))
    assert compare(newer, same).outcome == "cannot tell"  # word for word the same, and nothing to judge it by


def test_the_other_metrics_still_decide():
    tone = Metric(name="tone", threshold=0.3, version="1")
    newer = run("now", [[0.9] * 40, [0.1] * 40], sim(0.3, version="2"), tone)
    found = compare(newer, run("then", [[0.1] * 40, [0.9] * 40], sim(0.3), tone))
    assert found.outcome == "worse"
    assert [change.name for change in found.targets[0].metrics] == ["tone"]
    assert (found.targets[0].overall.before, found.targets[0].overall.now) == (1.0, 0.0)
    document = comparison_values(found)
    assert [(rule["metric"], rule["compared"]) for rule in document["rules"]] == [("sim", "nothing")]
    assert document["rescore"] == "evalmark rescore then"


def test_a_metric_that_one_run_alone_has_is_no_part_of_the_pass_rate():
    tone = Metric(name="tone", threshold=0.3, version="1")
    both = run("both", [[0.5] * 40, [0.1] * 40], sim(0.3), tone)
    alone = run("alone", [0.5] * 40, sim(0.3))
    assert compare(alone, both).outcome == compare(both, alone).outcome == "same"
    assert "Only the baseline has the metric tone; it is not compared." in compare(alone, both).warnings
    assert not compare(alone, both).rescore
    assert compare(both, alone).rescore == "evalmark rescore alone"


def test_runs_without_a_common_case_have_no_command_that_makes_them_comparable():
    there = run("then", [0.5] * 3, sim(0.3))
    other = replace(
        there,
        results=[
            replace(one, trial=replace(one.trial, case=Case(id=f"x{n}", input=f"y{n}")))
            for n, one in enumerate(there.results)
        ],
    )
    found = compare(run("now", [0.5] * 3, sim(0.3, version="2")), other)
    assert found.outcome == "cannot tell"
    assert not found.rescore
    assert verdict_sentence(found) == "The two runs have no case in common."


def test_the_embedding_model_counts_for_the_metrics_that_ask_it():
    def of(name, embedder, *, embeds):
        return run(name, LOW if name == "then" else HIGH, sim(0.3, embeds=embeds), embedder=embedder)

    assert compare(of("now", "local:b", embeds=True), of("then", "local:a", embeds=True)).outcome == "cannot tell"
    assert compare(of("now", "local:b", embeds=True), of("then", "local:b", embeds=True)).targets[0].metrics
    left = compare(of("now", "local:b", embeds=False), of("then", "local:a", embeds=False))
    assert left.targets[0].overall.difference.n == 20


def test_a_score_that_is_barred_passes_by_no_threshold():
    def barred(name, threshold):
        detail = {"positive": 0.9, "negative": 0.1, "barred": True, "closest": {"label": "disliked", "cosine": 0.3}}
        results = [result(n, [Score(name="sim", value=0.7, passed=False, detail=detail)]) for n in range(20)]
        return replace(run(name, [0.7], sim(threshold)), results=results)

    found = compare(barred("now", 0.1), barred("then", 0.8))
    assert (found.outcome, found.targets[0].overall.before) == ("same", 0.0)


def cosine(label, value, bars):
    passed = value >= bars["positive" if label == "liked" else "negative"]
    detail = {**bars, "barred": False, "closest": {"label": label, "value": "a", "cosine": value}}
    return Score(name="sim", raw=value, value=value, passed=passed, detail=detail)


@pytest.mark.parametrize(("now", "then"), [(0.3, 0.9), (0.9, 0.3)], ids=["loosened", "tightened"])
def test_the_bars_of_the_cosine_rule_are_those_of_the_newer_run(now, then):
    def of(name, positive):
        bars = {"positive": positive, "negative": 0.1}
        results = [result(n, [cosine("liked" if n % 2 else "disliked", 0.5, bars)]) for n in range(20)]
        return replace(run(name, [0.5], sim(own_thresholds=bars)), results=results)

    found = compare(of("now", now), of("then", then))
    assert found.outcome == "same"
    assert found.targets[0].overall.before == found.targets[0].overall.now == (1.0 if now == 0.3 else 0.5)
    assert f"the threshold positive was {then:g} and is now {now:g}" in found.warnings[0]
    with_threshold = replace(of("now", now), metrics=(sim(0.4, own_thresholds={"positive": now, "negative": 0.1}),))
    anew = replace(
        with_threshold,
        results=[replace(r, scores=(replace(r.scores[0], passed=True),)) for r in with_threshold.results],
    )
    assert compare(anew, of("then", then)).targets[0].overall.before == 1.0
    assert compare(of("then", then), anew).targets[0].overall.before == (1.0 if then == 0.3 else 0.5)


def test_truth_values_are_judged_anew_by_themselves():
    def truths(name, threshold):
        results = [
            result(n, [Score(name="sim", raw=n % 2 == 0, value=float(n % 2 == 0), passed=n % 2 == 0 or threshold == 0)])
            for n in range(20)
        ]
        return replace(run(name, [0.5], sim(threshold)), results=results)

    found = compare(truths("now", None), truths("then", 0.0))
    assert (found.outcome, found.targets[0].overall.before) == ("same", 0.5)
    assert compare(truths("now", 0.0), truths("then", None)).targets[0].overall.before == 1.0


def test_a_pass_that_follows_from_no_threshold_is_no_part_of_the_verdict():
    """A scorer decides by itself what passes, and the stored scores do not say how."""
    own = [result(n, [Score(name="sim", raw=v, value=v, passed=n < 10)], output=str(n)) for n, v in enumerate(LOW)]
    newer = replace(run("now", LOW, sim(None)), results=own)
    found = compare(newer, run("then", LOW, sim(0.3)))
    assert [change.name for change in found.targets[0].changes] == ["sim"]  # the values are what they were
    assert "means are compared, pass rates are not" in found.warnings[0]
    assert found.rescore == "evalmark rescore then"


def test_scores_that_are_only_recorded_decide_nothing():
    recorded = [result(n, [Score(name="sim", raw=v, value=v)]) for n, v in enumerate(LOW)]
    found = compare(replace(run("now", LOW, sim(0.2)), results=recorded), run("then", LOW, sim(0.3)))
    assert [change.name for change in found.targets[0].changes] == ["sim"]


def test_several_scores_of_one_scorer_go_by_its_rule():
    def of(name, values, version):
        results = [result(n, [Score(name="tone.short", value=v, passed=v > 0.3)]) for n, v in enumerate(values)]
        return replace(run(name, [0.5], Metric(name="tone", version=version)), results=results)

    assert compare(of("now", [0.9] * 40, "2"), of("then", [0.1] * 40, "1")).outcome == "cannot tell"
    assert compare(of("now", [0.9] * 40, "1"), of("then", [0.1] * 40, "1")).outcome == "better"

    def named(name, values, version):
        found = of(name, values, version)
        scores = [(replace(one.scores[0], name="short"),) for one in found.results]
        return replace(found, results=[replace(r, scores=s) for r, s in zip(found.results, scores, strict=True)])

    assert compare(named("now", [0.9] * 40, "2"), named("then", [0.1] * 40, "1")).outcome == "cannot tell"


def test_each_dataset_has_its_own_threshold():
    def of(name, strict, lenient):
        metrics = (sim(strict), sim(lenient, dataset="e"))
        results = [
            result(n, [score("sim", value, metrics_for(metrics, dataset)["sim"])], dataset)
            for dataset in "de"
            for n, value in enumerate(LOW)
        ]
        return replace(
            run(name, LOW, sim(strict)),
            results=results,
            metrics=metrics,
            datasets=(DatasetInfo(name="d"), DatasetInfo(name="e")),
        )

    found = compare(of("now", 0.3, 0.05), of("then", 0.3, 0.3))
    assert (found.outcome, found.targets[0].overall.before) == ("same", 26 / 40)
    assert [(change.metric, change.dataset) for change in found.rules.changes] == [("sim", "e")]


def test_both_texts_and_both_verdicts_are_under_one_rule():
    now, then = run("now", HIGH, sim(0.3)), run("then", LOW, sim(0.05))
    found = compare(now, then)
    pairs = flip_examples(found, now, then, 20)
    assert len(pairs) == 8
    assert {(pair.before.verdict, pair.now.verdict) for pair in pairs} == {("fail", "pass")}
    earlier = baseline_outputs(found, now.results, then)
    outcome = [earlier[one.trial.id].outcome(one) for one in now.results]
    assert (outcome.count("better"), outcome.count("worse")) == (8, 0)


def test_the_gate_of_the_baseline_is_told_under_both_rules():
    gate = Gate(min_pass_rate=0.5)
    found = compare(run("now", LOW, sim(0.3), gate=gate), run("then", LOW, sim(0.05), gate=gate))
    assert (
        found.warnings[-1]
        == "The baseline passes the gate with its own thresholds, and fails it with those of the newer run."
    )
    means = compare(
        run("now", LOW, sim(None), gate=Gate(thresholds={"sim": 0.1})),
        run("then", LOW, sim(None), gate=Gate(thresholds={"sim": 0.9})),
    )
    assert means.outcome == "same"
    assert means.warnings == (
        "The gate has changed: thresholds.sim was 0.9 and is now 0.1. The baseline fails its own gate, and passes the gate of the newer run.",
    )


@pytest.mark.parametrize(
    ("now", "then", "command"),
    [
        pytest.param({"suite": "new suite.yaml"}, {}, "evalmark rescore then --suite 'new suite.yaml'", id="suite"),
        pytest.param({"suite": ""}, {"suite": ""}, "", id="scorers from Python"),
    ],
)
def test_the_command_says_what_judges(now, then, command):
    found = compare(run("now", LOW, sim(version="2"), **now), run("then", LOW, sim(), **then))
    assert found.rescore == command


def test_registered_scorers_are_named_one_by_one():
    metrics = [Metric(name=name, version="1") for name in ("equals", "similarity")]
    newer = run("now", LOW, *(replace(metric, version="2") for metric in metrics), suite="")
    assert compare(newer, run("then", LOW, *metrics, suite="")).rescore == (
        "evalmark rescore then --metric equals --metric similarity"
    )


def test_the_older_run_is_judged_again_whichever_is_named_first():
    older = replace(run("old", LOW, sim()), created="2026-11-21T00:00:00Z")
    newer = run("new", LOW, sim(version="2"))
    assert compare(newer, older).rescore == compare(older, newer).rescore == "evalmark rescore old"


def test_trials_are_told_under_both_rules_where_several_metrics_changed():
    now, then = [[sim(t), Metric(name="tone", threshold=t, version="1")] for t in (0.3, 0.05)]
    found = compare(run("now", LOW, *now), run("then", LOW, *then))
    assert (
        "All metrics together: under the threshold of the newer run, 6 of 20 trials of the baseline pass; under the baseline's own threshold, 20."
        in (found.warnings)
    )


def test_equal_answers_judged_by_no_common_metric_say_nothing():
    renamed = compare(run("now", LOW, sim(0.3, name="closeness")), run("then", LOW, sim(0.3)))
    assert (renamed.outcome, renamed.exit_code) == ("cannot tell", 3)
    assert verdict_sentence(renamed) == "No metric is judged by the same rule in both runs, so nothing can be compared."
    added = compare(run("now", LOW, sim(0.3), sim(0.1, name="closeness")), run("then", LOW, sim(0.3)))
    assert added.outcome == "same"
    assert verdict_sentence(added).endswith("compared scores are identical.")


@pytest.mark.parametrize(("now", "then"), [(0.9, 0.4), (0.4, 0.9)])
def test_scores_say_which_way_is_better_where_the_metric_does_not(now, then):
    """A scorer written as a function can say so in its scores alone."""

    def of(name, threshold, output):
        found = run(name, LOW, Metric(name="errors", threshold=threshold, direction="lower"), output=output)
        return replace(found, metrics=(Metric(name="errors", threshold=threshold, version="1"),))

    found = compare(of("now", now, "x"), of("then", then, "y"))
    overall = found.targets[0].overall
    assert overall.before == overall.now == sum(value <= now for value in LOW) / 20
    assert found.outcome == "cannot tell"
