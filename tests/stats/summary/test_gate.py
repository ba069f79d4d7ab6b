"""The gate: pass, fail or cannot tell, and the exit code that says so."""

from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric, Shard
from evalmark.core.values.score import Trial
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise

from .test_summary import result

LETTERS = {"p": True, "f": False}


def trials(endings, **fields):
    """A run whose trials end as the letters say: pass, fail, error, unscored, ungated (-), skipped (s)."""
    results = []
    for position, letter in enumerate(endings):
        if letter in LETTERS:
            score = Score(name="m", raw=LETTERS[letter], value=float(LETTERS[letter]), passed=LETTERS[letter])
        else:
            score = Score(name="m", status={"u": "unscored", "s": "skipped"}.get(letter, "scored"), raw="label")
        results.append(result(position, error="boom") if letter == "e" else result(position, score))
    return summarise(Run(id="r", name="n", created="", results=results, **fields))


@pytest.mark.parametrize(
    ("endings", "gate", "exit_code", "reason"),
    [
        pytest.param("ppp", None, 0, "3 judged trials: every one passed.", id="no gate, all passed"),
        pytest.param("ppf", None, 1, "1 of 3 judged trials failed.", id="no gate, one failed"),
        pytest.param("", None, 3, "No cases ran.", id="no cases"),
        pytest.param("", Gate(min_pass_rate=0.0), 3, "No cases ran.", id="no cases, and any rate would do"),
        pytest.param("ss", None, 3, "Every score was skipped.", id="all skipped"),
        pytest.param("--", None, 0, "No score can pass or fail, so nothing was gated.", id="nothing can pass or fail"),
        pytest.param("ppe", None, 3, "1 error; at most 0 are allowed.", id="an error"),
        pytest.param("ppu", None, 3, "1 unscored trial; at most 0 are allowed.", id="an unscored trial"),
        pytest.param("pfe", None, 1, "1 of 2 judged trials failed.", id="a failure counts before an error"),
        pytest.param("ppe", Gate(max_errors=1), 0, "2 judged trials: every one passed.", id="an error that is allowed"),
        pytest.param("ppuu", Gate(max_unscored=2), 0, "2 judged trials: every one passed.", id="unscored ones that are allowed"),
        pytest.param("ppuuu", Gate(max_unscored=2), 3, "3 unscored trials; at most 2 are allowed.", id="one unscored too many"),
        pytest.param("uu", Gate(max_unscored=2), 3, "No trial was judged.", id="nothing judged, though that many gaps are allowed"),
        pytest.param("ppppppppp" "f", Gate(min_pass_rate=0.9), 0, "9 of 10 judged trials passed (90 %), at least 90 %.", id="exactly the rate"),
        pytest.param("pppppppp" "ff", Gate(min_pass_rate=0.9), 1, "8 of 10 judged trials passed (80 %), less than 90 %.", id="below the rate"),
        pytest.param("ppppppppf" "e", Gate(min_pass_rate=0.9, max_errors=1), 3, "8 of 9 judged trials passed (88.9 %), less than 90 %; the 1 missing trial could still raise it to the minimum.", id="below the rate, but the missing one might have passed"),
        pytest.param("pppppppff" "e", Gate(min_pass_rate=0.9, max_errors=1), 1, "7 of 9 judged trials passed (77.8 %), less than 90 %.", id="below the rate whatever the missing one would say"),
        pytest.param("pppppppff" "e", Gate(min_pass_rate=0.9), 1, "7 of 9 judged trials passed (77.8 %), less than 90 %.", id="failed for sure comes before too many errors"),
        pytest.param("pppppppppf" "e", Gate(min_pass_rate=0.9), 3, "1 error; at most 0 are allowed.", id="the rate is met, but an error is not allowed"),
        pytest.param("--", Gate(min_pass_rate=0.5), 3, "A pass rate of 50 % is required, but no trial passed or failed.", id="a rate of nothing"),
        pytest.param("p" * 1_999 + "ff", Gate(min_pass_rate=0.9995), 1, "1,999 of 2,001 judged trials passed (99.9 %), less than 99.95 %.", id="a rate with more digits than are usual"),
        pytest.param("fff", Gate(min_pass_rate=0.0), 0, "0 of 3 judged trials passed (0 %), at least 0 %.", id="a rate that asks for nothing"),
        pytest.param("pf-", Gate(min_pass_rate=0.5), 0, "1 of 2 judged trials passed (50 %), at least 50 %.", id="ungated trials do not count"),
    ],
)  # fmt: skip
def test_trials_and_gaps(endings, gate, exit_code, reason):
    verdict = apply_gate(trials(endings), gate)
    assert (verdict.exit_code, verdict.reasons) == (exit_code, (reason,))
    assert verdict.outcome == {0: "pass", 1: "fail", 3: "cannot tell"}[exit_code]


def test_where_every_trial_ended_in_an_error_the_errors_are_the_reason():
    skipped = Score(name="m", status="skipped", reason="the target gave no output")
    results = [replace(result(position, skipped), output=Output(value=None, error="boom")) for position in range(2)]
    verdict = apply_gate(summarise(Run(id="r", name="n", created="", results=results)), None)
    assert verdict.outcome == "cannot tell"
    assert verdict.reasons == ("No trial was judged.", "2 errors; at most 0 are allowed.")


@pytest.mark.parametrize(
    ("status", "rows", "endings", "gate", "exit_code"),
    [
        pytest.param("interrupted", 4, "pp", None, 3, id="what ran passed"),
        pytest.param("interrupted", 4, "pf", None, 1, id="one failed already"),
        pytest.param("stopped", 4, "pf", Gate(min_pass_rate=0.75), 3, id="the rest could lift the rate"),
        pytest.param("stopped", 4, "ff", Gate(min_pass_rate=0.75), 1, id="the rest cannot lift the rate"),
        pytest.param("stopped", None, "ff", Gate(min_pass_rate=0.75), 3, id="nobody knows how many are left"),
        pytest.param("running", 2, "pp", None, 3, id="all rows are there, but the run has not ended"),
    ],
)
def test_a_run_that_did_not_end(status, rows, endings, gate, exit_code):
    summary = trials(endings, status=status, datasets=(DatasetInfo(name="d", rows=rows),))
    assert apply_gate(summary, gate).exit_code == exit_code


def means(values, *, gaps=0, direction="higher", raw=False, **fields):
    scores = [Score(name="m", raw=v, value=None if raw else v, direction=direction) for v in values]
    scores += [Score(name="m", status="unscored", direction=direction)] * gaps
    return summarise(Run(id="r", name="n", created="", results=[result(i, s) for i, s in enumerate(scores)], **fields))


@pytest.mark.parametrize(
    ("summary", "threshold", "exit_code"),
    [
        pytest.param(means([0.8, 0.9]), 0.85, 0, id="exactly the threshold"),
        pytest.param(means([0.8, 0.9 - 1e-12]), 0.85, 0, id="short of it by rounding"),
        pytest.param(means([0.8, 0.89]), 0.85, 1, id="below it"),
        pytest.param(means([0.3, 0.2], direction="lower"), 0.25, 0, id="lower is better, exactly"),
        pytest.param(means([0.3, 0.3], direction="lower"), 0.25, 1, id="lower is better, above"),
        pytest.param(means([0.8, 0.8], gaps=1), 0.85, 3, id="the missing one could be perfect"),
        pytest.param(means([0.1, 0.1], gaps=1), 0.85, 1, id="the missing one could not save it"),
        pytest.param(
            means([0.9, 0.9], gaps=1, direction="lower"), 0.3, 1, id="lower is better, and zero would not save it"
        ),
        pytest.param(
            means([0.4, 0.4], gaps=1, direction="lower"), 0.3, 3, id="lower is better, and zero would save it"
        ),
        pytest.param(means([7.0, 9.0], direction="lower", raw=True), 10, 0, id="raw numbers"),
        pytest.param(means([7.0, 9.0], gaps=1, direction="lower", raw=True), 5, 3, id="a raw number has no best"),
        pytest.param(means([]), 0.5, 3, id="no trial at all"),
        pytest.param(means([], gaps=2), 0.5, 3, id="no score at all"),
    ],
)
def test_means_against_thresholds(summary, threshold, exit_code):
    gate = Gate(thresholds={"m": threshold}, max_unscored=5)
    assert apply_gate(summary, gate).exit_code == exit_code


def test_where_only_means_are_gated_the_verdict_speaks_of_them_alone():
    verdict = apply_gate(means([0.8, 0.9]), Gate(thresholds={"m": 0.5}))
    assert verdict.reasons == ("The mean of m is 0.85 over 2 scores, at least 0.5.",)
    assert verdict.gated


def test_a_mean_over_several_datasets_says_so():
    scores = [Score(name="m", raw=v, value=v) for v in (0.4, 0.8)]
    results = [
        Result(trial=Trial(case=Case(id="1"), dataset=dataset), output=Output(value=""), scores=(score,))
        for dataset, score in zip("ab", scores, strict=True)
    ]
    verdict = apply_gate(summarise(Run(id="r", name="n", created="", results=results)), Gate(thresholds={"m": 0.5}))
    assert verdict.reasons == ("The mean of m over all 2 datasets is 0.6 over 2 scores, at least 0.5.",)


def test_a_threshold_for_a_metric_that_nobody_measured_cannot_be_met():
    verdict = apply_gate(trials("pp"), Gate(thresholds={"other": 0.5}))
    assert (verdict.exit_code, verdict.reasons) == (3, ("other has a threshold of 0.5, but no score.",))


def test_each_target_must_reach_the_threshold():
    results = [
        result(i, Score(name="m", raw=v, value=v), target=t) for t, v in (("good", 0.9), ("bad", 0.2)) for i in range(2)
    ]
    verdict = apply_gate(summarise(Run(id="r", name="n", created="", results=results)), Gate(thresholds={"m": 0.5}))
    assert verdict.reasons == ("The mean of m on bad is 0.2 over 2 scores, less than 0.5.",)


def test_every_reason_to_fail_is_given():
    verdict = apply_gate(trials("pff"), Gate(thresholds={"m": 0.9}))
    assert len(verdict.reasons) == 2


def of_each(values, unit="", **fields):
    """A run with one score of each name in each of its datasets."""
    results = [
        Result(trial=Trial(case=Case(id=str(i)), dataset=dataset, position=i), output=Output(value=""), scores=scores)
        for dataset, rows in values.items()
        for i, scores in enumerate(rows)
    ]
    metrics = (Metric(name="m", unit=unit),)
    return summarise(Run(id="r", name="n", created="", results=results, metrics=metrics, **fields))


def held(name="m", *values, **fields):
    return [(Score(name=name, raw=v, value=v, **fields),) for v in values]


@pytest.mark.parametrize(
    ("summary", "exit_code", "reasons"),
    [
        pytest.param(means([0.5, 0.7]), 0, ["The mean of m is 0.6 over 2 scores, at least 0.6."], id="exactly the mean"),
        pytest.param(means([0.59991, 0.60001]), 1, ["The mean of m is 0.59996 over 2 scores, less than 0.6."], id="below it by less than four digits show"),
        pytest.param(means([0.5, 0.6]), 1, ["The mean of m is 0.55 over 2 scores, less than 0.6."], id="below it"),
        pytest.param(means([0.5, 0.6], gaps=1), 3, ["The mean of m is 0.55 over 2 scores, less than 0.6; the 1 missing score could still change that."], id="the missing one could lift it"),
        pytest.param(means([0.1, 0.2], gaps=1), 1, ["The mean of m is 0.15 over 2 scores, less than 0.6."], id="the missing one could not lift it"),
        pytest.param(means([0.9, 0.9], direction="lower"), 3, ["min_score is 0.6, but no metric has a mean."], id="lower is better, so nothing is held to it"),
        pytest.param(means([3.0, 9.0], raw=True), 3, ["min_score is 0.6, but m has numbers outside 0 to 1."], id="numbers outside 0 to 1"),
        pytest.param(of_each({"d": [(Score(name="m", raw=240),)] * 2}, unit="characters"), 3, ["min_score is 0.6, but no metric has a mean."], id="a unit of its own"),
        pytest.param(of_each({"d": [(Score(name="m", raw=2),)] * 2}, unit="1..5"), 3, ["min_score is 0.6, but m has numbers outside 0 to 1."], id="a scale without places on it"),
        pytest.param(of_each({"d": [(Score(name="m", raw="label"),)]}), 3, ["min_score is 0.6, but no metric has a mean."], id="labels"),
        pytest.param(means([], gaps=2), 3, ["No trial was judged.", "m has a threshold of 0.6, but no score."], id="nothing but gaps"),
        pytest.param(
            of_each({"a": held("m", 1.0, 1.0), "b": held("m", 0.5)}), 1, ["The mean of m in b is 0.5 over 1 score, less than 0.6."],
            id="a good dataset does not make up for a bad one",
        ),
        pytest.param(
            of_each({"d": [(*good, *bad) for good, bad in zip(held("m", 1.0, 1.0), held("n", 0.5, 0.6), strict=True)]}),
            1, ["The mean of n is 0.55 over 2 scores, less than 0.6."], id="a good metric does not make up for a bad one",
        ),
        pytest.param(
            of_each({"a": held("m", 1.0), "b": [()]}), 3, ["min_score is 0.6, but there is no score in b."], id="a dataset without a score",
        ),
    ],
)  # fmt: skip
def test_every_mean_has_to_reach_the_least_one(summary, exit_code, reasons):
    verdict = apply_gate(summary, Gate(min_score=0.6, max_unscored=5))
    assert (verdict.exit_code, list(verdict.reasons)) == (exit_code, reasons)


def test_a_least_mean_of_each_target_and_of_turns_says_which():
    scored = (Score(name="m", raw=0.1, value=0.1),)
    results = [
        Result(trial=Trial(case=Case(id="c"), target=target, mode=mode), output=Output(value=""), scores=scored)
        for target, mode in (("a", "single"), ("b", "conversation"))
    ]
    verdict = apply_gate(summarise(Run(id="r", name="n", created="", results=results)), Gate(min_score=0.5))
    assert verdict.reasons == (
        "The mean of m on a is 0.1 over 1 score, less than 0.5.",
        "The mean of m on b, turn by turn is 0.1 over 1 score, less than 0.5.",
    )


def test_a_least_mean_over_a_run_that_did_not_end_fails_only_for_sure():
    rows = (DatasetInfo(name="d", rows=4),)
    low, lost = (of_each({"d": held("m", *v)}, status="interrupted", datasets=rows) for v in ((0.2, 0.4), (0.0, 0.0)))
    assert apply_gate(low, Gate(min_score=0.6)).exit_code == 3
    assert apply_gate(lost, Gate(min_score=0.6)).exit_code == 1


def test_a_trial_that_fails_still_fails_the_gate_unless_a_rate_allows_it():
    summary = trials("pf")
    assert apply_gate(summary, Gate(min_score=0.5)).reasons == ("1 of 2 judged trials failed.",)
    assert apply_gate(summary, Gate(min_score=0.5, min_pass_rate=0)).outcome == "pass"


@pytest.mark.parametrize(
    ("value", "code"), [pytest.param(0.9, 1, id="too much"), pytest.param(0.1, 0, id="little enough")]
)
@pytest.mark.parametrize("first", ["error", "skipped", "unscored"])
def test_a_first_score_that_is_none_does_not_turn_round_what_is_better(first, value, code):
    said = Score(name="m", raw=value, value=value, direction="lower")
    results = [result(0, Score(name="m", status=first)), *(result(n, said) for n in range(1, 11))]
    metric = Metric(name="m", direction="lower")
    summary = summarise(Run(id="r", name="n", created="", results=results, metrics=(metric,)))
    assert summary.metrics[0].direction == "lower"
    gate = Gate(min_pass_rate=None, thresholds={"m": 0.3}, max_errors=1, max_unscored=1)
    assert apply_gate(summary, gate).exit_code == code


@pytest.mark.parametrize(
    ("endings", "gate", "status", "exit_code", "reason"),
    [
        pytest.param("pf", None, "complete", 0, "The gate judges all shards together, once they are merged.", id="answers are judged later"),
        pytest.param("ff", Gate(min_pass_rate=0.9, min_score=0.9, thresholds={"m": 1}), "complete", 0, "The gate judges all shards together, once they are merged.", id="whatever the gate asks for"),
        pytest.param("", None, "complete", 0, "The gate judges all shards together, once they are merged.", id="a share without cases"),
        pytest.param("ss", None, "complete", 0, "The gate judges all shards together, once they are merged.", id="all skipped"),
        pytest.param("pe", None, "complete", 3, "1 error; at most 0 are allowed.", id="more errors than all of them may have"),
        pytest.param("pe", Gate(max_errors=1), "complete", 0, "The gate judges all shards together, once they are merged.", id="an error that is allowed"),
        pytest.param("puu", Gate(max_unscored=1), "complete", 3, "2 unscored trials; at most 1 is allowed.", id="more unscored ones than all of them may have"),
        pytest.param("pf", None, "stopped", 3, "The run is incomplete.", id="a share that broke off"),
        pytest.param("pf", None, "running", 3, "The run has not ended.", id="a share that is running"),
    ],
)  # fmt: skip
def test_a_shard_says_whether_it_did_its_work(endings, gate, status, exit_code, reason):
    verdict = apply_gate(trials(endings, status=status, shard=Shard(number=1, of=2)), gate)
    assert (verdict.exit_code, verdict.reasons) == (exit_code, (reason,))
    assert verdict.gated == bool(exit_code)
