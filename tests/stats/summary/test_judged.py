"""Judged metrics: their own units, their choices, how steady a judge is, and how far judges agree."""

from dataclasses import replace

import pytest

from evalmark import Gate, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.stats.agreement.kappa_alpha import krippendorff_alpha
from evalmark.stats.inference.intervals import wilson
from evalmark.stats.inference.means import share_interval
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summarise import summarise

from .test_summary import metric, result, run

JUDGES = ("openai/a", "anthropic/b", "local/c")


def said(name, raw, low=1.0, high=5.0, **fields):
    value = raw if isinstance(raw, str) else (float(raw) - low) / (high - low)
    return Score(name=name, raw=raw, value=value, **fields)


def metrics(*judges, base="helpful", unit="1..5"):
    return tuple(Metric(name=f"{base} [{judge}]", unit=unit, judge=judge, base=base) for judge in judges)


def panel(rows, unit="1..5", low=1.0, high=5.0, **fields):
    """The agreement of as many judges as each row has words; None: unscored, ...: not asked."""
    asked = metrics(*JUDGES[: max(len(row) for row in rows)], unit=unit)
    results = []
    for position, row in enumerate(rows):
        scores = []
        for m, word in zip(asked, row, strict=True):
            if word is None:
                scores.append(Score(name=m.name, status="unscored", raw=4, value=0.75))
            elif word is not ...:
                scores.append(
                    Score(name=m.name, raw=word, value=WORTH[word]) if word in WORTH else said(m.name, word, low, high)
                )
        results.append(result(position, *scores, **fields))
    (found,) = summarise(run(*results, metrics=asked)).agreements
    return found


WORTH = {"A": 0.4, "B": 0.6, "C": 1.0, "D": 0.0}


@pytest.mark.parametrize(
    ("unit", "ends"),
    [("1..5", (1, 5)), ("-2..2", (-2, 2)), ("0..10", (0, 10)), ("0.5..1.5", (0.5, 1.5)), ("%", (0, 100)),
     ("cosine", None), ("5..1", None), ("3..3", None), ("1..", None), ("1..5 ", None), ("", None)],
)  # fmt: skip
def test_units_that_are_scales(unit, ends):
    assert scale_ends(unit) == ends


@pytest.mark.parametrize(
    ("unit", "raws", "raw_mean", "mean"),
    [
        pytest.param("1..5", [4, 5, 3], 4, 0.75, id="a scale"),
        pytest.param("%", [85, 95, 90], 90, 0.9, id="percent"),
        pytest.param("0..10", [0, 0, 0], 0, 0.0, id="all at a zero that both units share"),
        pytest.param("0..1", [0.25, 0.75, 0.5], None, 0.5, id="a scale that is the values themselves"),
    ],
)
def test_a_mean_in_its_own_unit_comes_with_the_interval_of_its_scale(unit, raws, raw_mean, mean):
    low, high = scale_ends(unit)
    found = metric(
        *(result(i, said("m", raw, low, high)) for i, raw in enumerate(raws)), metrics=(Metric(name="m", unit=unit),)
    )
    assert (found.raw_mean, found.mean) == (raw_mean, pytest.approx(mean))
    if raw_mean is not None:
        ends = low + found.interval.low * (high - low), low + found.interval.high * (high - low)
        assert (found.raw_interval.low, found.raw_interval.high) == pytest.approx(ends)
        assert found.raw_interval.method == found.interval.method


def test_values_that_are_no_places_on_the_scale_get_no_interval_of_it():
    results = [result(i, Score(name="m", raw=raw, value=raw / 10)) for i, raw in enumerate((2, 4, 5))]
    found = metric(*results, metrics=(Metric(name="m", unit="1..5"),))
    assert (found.raw_mean, found.raw_interval) == (pytest.approx(11 / 3), None)


@pytest.mark.parametrize(
    ("raws", "truths"),
    [
        pytest.param([True, False, True], True, id="yes and no"),
        pytest.param([True, 1, True], False, id="a number among them"),
        pytest.param([1.0, 0.0], False, id="numbers"),
        pytest.param(["yes", "no"], False, id="names"),
    ],
)
def test_truth_values_are_told_from_numbers(raws, truths):
    values = [float(raw) if not isinstance(raw, str) else float(raw == "yes") for raw in raws]
    scores = [Score(name="m", raw=r, value=v) for r, v in zip(raws, values, strict=True)]
    assert metric(*(result(i, score) for i, score in enumerate(scores))).truths is truths


def test_yes_and_no_with_values_between_0_and_1_are_numbers():
    found = metric(*(result(i, Score(name="m", raw=value > 0.5, value=value)) for i, value in enumerate((0.7, 0.3))))
    assert (found.truths, sum(found.bins)) == (False, 2)


@pytest.mark.parametrize(
    ("raws", "choices"),
    [
        pytest.param(["C", "A", "C"], {"A": 1, "C": 2}, id="in the order of their names"),
        pytest.param([1, 2], {}, id="numbers are no choices"),
        pytest.param([f"{i}" for i in range(51)], {}, id="too many to be choices"),
        pytest.param(["x" * 101], {}, id="too long to be the name of one"),
    ],
)
def test_choices_are_counted_by_name(raws, choices):
    found = metric(*(result(i, Score(name="m", raw=raw, value=0.5)) for i, raw in enumerate(raws)))
    assert found.choices == choices
    assert list(found.choices) == sorted(choices)


def test_what_a_judge_says_of_itself_is_counted():
    details = [
        {"flipped": True, "verdicts": [1, 2], "weighting": "logprobs"},
        {"flipped": False, "order_consistent": False, "weighting": "plain: the model gives none"},
        {"flipped": False, "order_consistent": True, "weighting": "logprobs"},
        {"flipped": 1, "order_consistent": "yes", "weighting": 7},
    ]
    scores = [Score(name="m", raw=3, value=0.5, detail=detail) for detail in details]
    kinds = ["judge_parse", "judge_range", "judge_parse", 7, None]
    scores += [Score(name="m", status="unscored", detail={"unscored": kind}) for kind in kinds]
    scores += [Score(name="m", raw=3, value=0.5, detail={"unscored": "judge_parse"})]
    found = metric(*(result(i, score) for i, score in enumerate(scores))).steadiness
    assert (found.flipped.passed, found.flipped.n, found.flipped.interval) == (1, 3, wilson(1, 3))
    assert (found.order_decided.passed, found.order_decided.n) == (1, 2)
    assert found.weighting == {"logprobs": 2, "plain: the model gives none": 1}
    assert found.unscored == {"judge_parse": 2, "judge_range": 1}


def test_flips_of_repeated_trials_are_clustered_by_case():
    flips = [(True, True), (False, False), (True, False)]
    results = [
        result(case, Score(name="m", raw=1, value=0.5, detail={"flipped": flip}), repeat=repeat)
        for case, several in enumerate(flips)
        for repeat, flip in enumerate(several)
    ]
    found = metric(*results).steadiness.flipped
    assert found.interval == share_interval([1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2])


def test_a_metric_without_a_judge_has_nothing_to_say_of_one():
    found = metric(result(0, Score(name="m", raw=1, value=0.5))).steadiness
    assert (found.flipped, found.order_decided, found.weighting, found.unscored) == (None, None, {}, {})


def test_more_reasons_than_anybody_reads_are_counted_together():
    scores = [Score(name="m", raw=1, value=0.5, detail={"weighting": f"plain: {i}"}) for i in range(40)]
    found = metric(*(result(i, score) for i, score in enumerate(scores))).steadiness.weighting
    assert (len(found), found["other"]) == (21, 20)


@pytest.mark.parametrize(
    ("direction", "worst"),
    [("higher", ["c3", "c0", "c4", "c2"]), ("lower", ["c1", "c2", "c0", "c4"])],
)
def test_the_worst_scores_of_a_metric_come_with_their_reasons(direction, worst):
    values = [0.25, 1.0, 0.5, 0.0, 0.25]
    results = [
        result(i, Score(name="m", raw=v, value=v, direction=direction, reason=f"why {i}")) for i, v in enumerate(values)
    ]
    results.append(result(5, Score(name="m", status="unscored", raw=0, value=0.0, reason="cut")))
    found = metric(*results).worst
    assert [row.case for row in found] == worst
    assert found[0].reason == f"why {worst[0][1:]}"


def test_of_many_worst_scores_the_first_are_kept():
    results = [result(i, Score(name="m", raw=1, value=0.0, reason="x" * 5_000)) for i in range(50)]
    found = metric(*results).worst
    assert [row.position for row in found] == [0, 1, 2, 3, 4]
    assert len(found[0].reason) == 1_000


def test_what_is_no_number_and_no_name_is_not_kept_of_the_worst():
    scores = [Score(name="m", raw=["a" * 10_000], value=0.5), Score(name="m", raw="b" * 10_000, value=0.25)]
    assert [row.raw for row in metric(*(result(i, s) for i, s in enumerate(scores))).worst] == [None, None]


def test_two_datasets_keep_their_own_figures():
    rows = [("a", 0, 2), ("a", 1, 3), ("b", 0, 5), ("b", 1, 5)]
    results = [result(i, said("m", raw, reason=d), dataset=d) for d, i, raw in rows]
    found = summarise(run(*results, metrics=(Metric(name="m", unit="1..5"),)))
    assert [(g.dataset, g.metrics[0].raw_mean, g.metrics[0].n) for g in found.groups] == [("a", 2.5, 2), ("b", 5.0, 2)]
    assert [[row.reason for row in g.metrics[0].worst] for g in found.groups] == [["a", "a"], []]


def turn(position, *scores, error=None):
    one = result(position, *scores, error=error)
    return replace(one, trial=replace(one.trial, mode="conversation"))


def test_rows_asked_alone_and_as_turns_are_two_groups_of_the_same_cases():
    passed, failed = Score(name="m", value=1.0, passed=True), Score(name="t", value=0.0, passed=False)
    found = summarise(run(result(0, passed), result(1, error="boom"), turn(0, failed), turn(1, failed)))
    assert [(g.mode, g.tally.trials, [m.name for m in g.metrics]) for g in found.groups] == [
        ("single", 2, ["m"]),
        ("conversation", 2, ["t"]),
    ]
    assert (found.total.trials, found.total.cases, found.total.flips) == (4, 2, None)
    assert [m.missing for m in found.metrics] == [1, 0]  # the output that never came was not one of a conversation


def test_trials_in_both_modes_that_never_ran():
    score = Score(name="m", value=1.0, passed=True)
    metrics = (Metric(name="m"), Metric(name="flow", mode="conversation"))
    header = {"status": "interrupted", "datasets": (DatasetInfo(name="d", rows=3),), "metrics": metrics}
    assert summarise(run(result(0, score), turn(0, score), **header)).missing == 4
    assert summarise(run(result(0, score), **header)).missing == 5, "also before the second mode has begun"


@pytest.mark.parametrize(
    ("rows", "level", "same", "kappa", "difference"),
    [
        pytest.param([(1, 1), (2, 3), (5, 5), (4, 4)], "ordinal", (3, 4), 0.9473684210526315, 0.25, id="a scale"),
        pytest.param([(1, 1.5), (5, 4.5)], "interval", (0, 2), 0.96, 0.0, id="numbers that are not whole"),
        pytest.param([("A", "A"), ("C", "C"), ("A", "D")], "nominal", (2, 3), 0.5, -0.4 / 3, id="choices, apart by what they are worth"),
        pytest.param([(True, True), (False, True)], "nominal", (1, 2), 0.0, 0.5, id="truth values"),
        pytest.param([(5, 5), (5, 5)], "ordinal", (2, 2), None, 0.0, id="always the same, which shows nothing"),
        pytest.param([(1, 1), (3, None), (None, 2), (..., 2), (5, 4)], "ordinal", (1, 2), 12 / 13, -0.5, id="only what both scored"),
    ],
)  # fmt: skip
def test_two_judges(rows, level, same, kappa, difference):
    low, high = (0.0, 1.0) if level == "nominal" else (1.0, 5.0)
    found = panel(rows, low=low, high=high)
    (pair,) = found.pairs
    assert (found.base, found.judges, found.level) == ("helpful", JUDGES[:2], level)
    assert (pair.same.passed, pair.same.n, found.n) == (*same, same[1])
    assert pair.same.interval == wilson(*same)
    assert (pair.kappa, pair.difference) == (
        pytest.approx(kappa) if kappa is not None else None,
        pytest.approx(difference),
    )
    assert (found.alpha, found.interval) == (None, None)
    assert found.unit == ("" if level == "nominal" else "1..5")


def test_three_judges_have_an_alpha_and_three_pairs():
    rows = [(1, 2, 3, 3, 2, 1, 4, 1, 2, None), (1, 2, 3, 3, 2, 2, 4, 1, 2, 5), (None, 3, 3, 3, 2, 3, 4, 2, 2, 5)]
    columns = list(zip(*rows, strict=True))
    found = panel(columns)
    assert found.alpha == krippendorff_alpha([[x for x in c if x is not None] for c in columns], "ordinal")
    assert found.interval.low < found.alpha < found.interval.high
    assert [pair.judges for pair in found.pairs] == [JUDGES[:2], (JUDGES[0], JUDGES[2]), JUDGES[1:]]
    assert [pair.same.n for pair in found.pairs] == [9, 8, 9]


def test_the_commonest_word_is_named_with_its_share():
    assert [(f.most_common, f.prevalence) for f in (panel([("B", "A"), ("B", "B")]), panel([(True, True)], low=0.0, high=1.0), panel([(3, 4)]), panel([(1.5, 2)]))] == [
        ("B", 0.75), ("true", 1.0), ("3", 0.5), ("", None)
    ]  # fmt: skip


def test_judges_that_never_met_agree_on_nothing():
    found = panel([(1, None), (None, 2)])
    assert (found.n, found.pairs, found.most_common, found.prevalence) == (0, (), "", None)
    found = panel([(1, 2, None), (2, 3, None)])
    assert [pair.judges for pair in found.pairs] == [JUDGES[:2]]


def test_one_model_that_judges_twice_goes_by_its_metrics():
    asked = tuple(Metric(name=f"helpful [{n}]", judge="openai/a", base="helpful") for n in "xy")
    scores = [Score(name=m.name, raw=0.5, value=0.5) for m in asked]
    (found,) = summarise(run(result(0, *scores), metrics=asked)).agreements
    assert found.judges == ("helpful [x]", "helpful [y]")


def test_agreement_is_over_all_datasets_and_cases_met_twice_are_clustered():
    asked = metrics(*JUDGES[:2])
    results = [
        result(i, *(said(m.name, raw) for m, raw in zip(asked, pair, strict=True)), dataset=d, target=t)
        for i, pair in enumerate([(1, 1), (2, 3)])
        for d in "ab"
        for t in "xy"
    ]
    (found,) = summarise(run(*results, metrics=asked)).agreements
    (pair,) = found.pairs
    assert (found.n, pair.same.passed) == (8, 4)
    assert pair.same.interval == share_interval([1] * 4 + [0] * 4, [0, 0, 1, 1, 2, 2, 3, 3])


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(metrics(JUDGES[0]), id="one judge"),
        pytest.param((Metric(name="a", judge="x"), Metric(name="b", judge="y")), id="two metrics"),
    ],
)
def test_there_is_no_agreement_without_a_second_judge(asked):
    scores = [said(m.name, 3) for m in asked]
    assert summarise(run(result(0, *scores), metrics=asked)).agreements == ()


@pytest.mark.parametrize(
    ("thresholds", "outcome", "reasons"),
    [
        pytest.param({"helpful": 0.5}, "fail", ["The mean of helpful [anthropic/b] is 0.25 over 1 score, less than 0.5."], id="every judge of a metric must reach it"),
        pytest.param({"helpful [openai/a]": 0.5}, "pass", ["The mean of helpful [openai/a] is 0.75 over 1 score, at least 0.5."], id="one judge, by its full name"),
        pytest.param({"helpful": 0.25}, "pass", ["The mean of helpful [openai/a] is 0.75 over 1 score, at least 0.25.", "The mean of helpful [anthropic/b] is 0.25 over 1 score, at least 0.25."], id="all reach it"),
        pytest.param({"help": 0.25}, "cannot tell", ["help has a threshold of 0.25, but no score."], id="no such metric"),
    ],
)  # fmt: skip
def test_a_threshold_for_a_metric_with_several_judges(thresholds, outcome, reasons):
    asked = metrics(*JUDGES[:2])
    case = result(0, said(asked[0].name, 4), said(asked[1].name, 2))
    verdict = apply_gate(summarise(run(case, metrics=asked)), Gate(thresholds=thresholds))
    assert (verdict.outcome, list(verdict.reasons)) == (outcome, reasons)
